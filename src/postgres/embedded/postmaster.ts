import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../errors.ts';
import type { Layout } from './layout.ts';

/** What `postmaster.pid` says about the Postgres of a data directory. */
export interface Postmaster {
  pid: number;
  port: number;
  status: 'starting' | 'ready' | 'stopping';
}

/** Null when there is no such file, or it is only just being written. The process may be long gone. */
export function readPostmaster(layout: Layout): Postmaster | null {
  let lines: string[];
  try {
    lines = readFileSync(join(layout.cluster, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return null;
  }
  // Lines: PID, directory, start, port, socket directory, address, shared memory, status.
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!Number.isInteger(pid) || pid <= 1) return null;
  const status = lines[7]?.trim();
  return { pid, port, status: status === 'ready' || status === 'stopping' ? status : 'starting' };
}

/** Stands in the server's command line (and in `ps`), so that a reused PID is not taken for our Postgres. */
export function clusterName(layout: Layout): string {
  return `company_directory_${createHash('sha256').update(layout.home).digest('hex').slice(0, 16)}`;
}

/** Whether `pid` is alive and really this data directory's Postgres; a zombie is not. */
export function isPostmasterAlive(layout: Layout, pid: number): boolean {
  if (!isPidTaken(pid)) return false;
  if (process.platform !== 'linux') return true;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(clusterName(layout));
  } catch {
    return false;
  }
}

/** Whether any process, even a zombie, has this PID. */
export function isPidTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** The data directory's Postgres if it runs, in whatever status. */
export function findRunning(layout: Layout): Postmaster | null {
  const postmaster = readPostmaster(layout);
  return postmaster !== null && isPostmasterAlive(layout, postmaster.pid) ? postmaster : null;
}
