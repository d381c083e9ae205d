import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { codeOf } from '../../errors.ts';
import type { Layout } from './layout.ts';
import { readProcessInfo } from './process-info.ts';

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

/**
 * Whether `pid` is alive and really this data directory's Postgres; a zombie is not.
 *
 * Anybody can start a process under the PID of a stale `postmaster.pid` with this command line, so the process must
 * run as the owner of the data directory: Postgres itself accepts no other user. Its executable is compared by name
 * only, because another checkout may have started it, and a second Postgres would destroy the data.
 *
 * @throws Error when the system can't tell.
 */
export function isPostmasterAlive(layout: Layout, pid: number): boolean {
  const info = isPidTaken(pid) ? readProcessInfo(pid) : null;
  if (info === null || !info.command.includes(clusterName(layout))) return false;
  if (info.executable !== null && basename(info.executable) !== 'postgres') return false;
  return info.uid === statSync(layout.cluster, { throwIfNoEntry: false })?.uid;
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
