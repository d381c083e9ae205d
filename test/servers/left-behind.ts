import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { removeRunFolders } from './folders.ts';

/** A process that is ending takes a moment, longer on a busy machine. */
const GRACE_MS = 20_000;

/**
 * Ends the processes that a run has left, and removes the folders of its servers. Linux tells the environment and the folder of
 * other processes, other systems don't. A process of a run has its TEST_RUN_ID, or, as an embedded Postgres, works in a temporary
 * folder with it in the name.
 *
 * @returns one line each: its id, and what it is
 */
export async function endLeftBehind(runId: string, graceMs = GRACE_MS): Promise<string[]> {
  const deadline = performance.now() + graceMs;
  let left = processesOf(runId);
  while (left.length > 0 && performance.now() < deadline) {
    await Bun.sleep(50);
    left = processesOf(runId);
  }
  const lines = left.map((pid) => {
    const line = `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()}`;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
    return line;
  });
  await removeRunFolders(runId);
  return lines;
}

function processesOf(runId: string): number[] {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').map(Number);
  return pids.filter((pid) => pid > 0 && pid !== process.pid && isOf(pid, runId));
}

function isOf(pid: number, runId: string): boolean {
  if (read(`/proc/${pid}/environ`).split('\0').includes(`TEST_RUN_ID=${runId}`)) return true;
  try {
    return readlinkSync(`/proc/${pid}/cwd`).includes(`-${runId}-`);
  } catch {
    return false; // it has ended, or is another user's
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
