import { SECOND } from '../../units.ts';
import type { Layout } from './layout.ts';
import { findRunning, isPostmasterAlive } from './postmaster.ts';

const POLL_MS = 5;
const FAST_SHUTDOWN_MS = 30 * SECOND;
const IMMEDIATE_SHUTDOWN_MS = 10 * SECOND;

/**
 * Stops Postgres if it runs and waits until it is gone: open transactions are rolled back, everything is written.
 * Call it with the mutex held.
 *
 * @throws Error when it neither stops nor can be stopped at once.
 */
export async function stopPostgres(layout: Layout): Promise<void> {
  const running = findRunning(layout);
  if (running === null) return;
  // SIGINT: don't wait for clients. SIGQUIT: don't write either; the next start replays the log.
  if (await endsAfter(layout, running.pid, 'SIGINT', FAST_SHUTDOWN_MS)) return;
  if (await endsAfter(layout, running.pid, 'SIGQUIT', IMMEDIATE_SHUTDOWN_MS)) return;
  throw new Error(
    `the embedded Postgres (PID ${running.pid}) does not stop: end it with \`kill -9 ${running.pid}\``,
  );
}

async function endsAfter(
  layout: Layout,
  pid: number,
  signal: NodeJS.Signals,
  timeoutMs: number,
): Promise<boolean> {
  tell(pid, signal);
  const deadline = performance.now() + timeoutMs;
  while (isPostmasterAlive(layout, pid)) {
    if (performance.now() > deadline) return false;
    await Bun.sleep(POLL_MS);
  }
  return true;
}

/** The same for a process that is exiting and can't wait for promises; gives up after three seconds. */
export function stopPostgresNow(layout: Layout): void {
  const running = findRunning(layout);
  if (running === null) return;
  tell(running.pid, 'SIGINT');
  const deadline = performance.now() + 3 * SECOND;
  while (isPostmasterAlive(layout, running.pid) && performance.now() < deadline) Bun.sleepSync(POLL_MS);
}

function tell(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone in the meantime.
  }
}
