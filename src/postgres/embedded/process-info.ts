import { readFileSync, readlinkSync } from 'node:fs';
import { codeOf } from '../../errors.ts';

/** A running process, as the kernel describes it. The process itself chooses nothing but its command line. */
export interface ProcessInfo {
  /** The user it runs as; `null` when its real and its effective user differ (a setuid program). */
  uid: number | null;
  /** Command line, arguments separated by NUL or space. */
  command: string;
  /** The executable: its path, or only its name; `null` when the system tells neither. */
  executable: string | null;
}

/**
 * Describes a process. `null` means that there is none. A zombie has no arguments.
 *
 * @throws Error when the system can't tell, for example because this process has too many open files.
 */
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
    if (isGone(error)) return null;
    throw error;
  }
}

function readExecutable(pid: number): string | null {
  try {
    // The suffix appears after an upgrade has replaced the file.
    return readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, '');
  } catch (error) {
    // A container's root may read this of its user's processes only.
    if (['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ESRCH'].includes(codeOf(error) ?? '');
}

/** For systems without `/proc`. */
export function readFromPs(pid: number): ProcessInfo | null {
  const columns = ['ruid', 'uid', 'command'].flatMap((column) => ['-o', `${column}=`]);
  const { stdout, exitCode } = Bun.spawnSync(['ps', '-ww', ...columns, '-p', String(pid)]);
  const [, real, effective, command] = /^\s*(\d+)\s+(\d+)\s+(.*)/.exec(stdout.toString()) ?? [];
  if (exitCode !== 0 || command === undefined) return null;
  return { uid: real === effective ? Number(real) : null, command, executable: null };
}
