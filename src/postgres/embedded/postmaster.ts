import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { codeOf } from '../../errors.ts';
import type { Layout } from './layout.ts';

/** Finds the running Postgres of a data directory, and never takes another process for it. */

/** The content of `postmaster.pid`. */
export interface Postmaster {
  pid: number;
  port: number;
  status: 'starting' | 'ready' | 'stopping';
}

/** The data directory's Postgres if it runs, in whatever status. */
export function findRunning(layout: Layout): Postmaster | null {
  const postmaster = readPostmaster(layout);
  return postmaster !== null && isPostmasterAlive(layout, postmaster.pid) ? postmaster : null;
}

/** `null` means that there is no such file, or that it is being written. The process may have ended long ago. */
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

/** Part of the server's command line (see `ps`), so that a reused PID is not taken for our Postgres. */
export function clusterName(layout: Layout): string {
  return `company_directory_${createHash('sha256').update(layout.home).digest('hex').slice(0, 16)}`;
}

/**
 * Whether `pid` is alive and really this data directory's Postgres; a zombie is not.
 *
 * Anybody can start a process under the PID of a stale `postmaster.pid` with this command line. So the process must run as
 * the owner of the data directory: Postgres itself accepts no other user. Its executable is compared by name only, because
 * another checkout may have started it, and a second Postgres would destroy the data.
 *
 * @throws Error when the system can't tell
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

/** A running process, as the kernel describes it. The process itself chooses nothing but its command line. */
interface ProcessInfo {
  /** The user it runs as; `null` when its real and its effective user differ (a setuid program). */
  uid: number | null;
  /** Command line, arguments separated by NUL or space. A zombie has none. */
  command: string;
  /** The executable: its path, or only its name; `null` when the system tells neither. */
  executable: string | null;
}

/** `null` means that there is no such process. @throws Error when the system can't tell, as with too many open files */
export function readProcessInfo(pid: number): ProcessInfo | null {
  return process.platform === 'linux' ? readFromProc(pid) : readFromPs(pid);
}

function readFromProc(pid: number): ProcessInfo | null {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    // Not the owner of /proc/PID: that is root for every process that has made itself undumpable.
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [real, effective] = /^Uid:\s+(\d+)\s+(\d+)/m.exec(status)?.slice(1) ?? [];
    return {
      uid: real !== undefined && real === effective ? Number(real) : null,
      command,
      executable: readExecutable(pid) ?? /^Name:\s+(.*)/m.exec(status)?.[1] ?? null,
    };
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}

function readExecutable(pid: number): string | null {
  try {
    // The suffix appears after an upgrade has replaced the file.
    return readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, '');
  } catch (error) {
    // A container's root may read this of root's processes only.
    if (['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}

/** For systems without `/proc`. */
export function readFromPs(pid: number): ProcessInfo | null {
  const columns = ['ruid', 'uid', 'command'].flatMap((column) => ['-o', `${column}=`]);
  const { stdout, exitCode } = Bun.spawnSync(['ps', '-ww', ...columns, '-p', String(pid)]);
  const [, real, effective, command] = /^\s*(\d+)\s+(\d+)\s+(.*)/.exec(stdout.toString()) ?? [];
  if (exitCode !== 0 || command === undefined) return null;
  return { uid: real === effective ? Number(real) : null, command, executable: null };
}
