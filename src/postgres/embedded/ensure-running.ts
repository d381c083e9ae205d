import { SECOND } from '../../units.ts';
import { checkDatabase } from './database.ts';
import type { Layout } from './layout.ts';
import { findRunning, type Postmaster } from './postmaster.ts';
import { START_TIMEOUT_MS, type StartOptions, startPostgres } from './start.ts';

const POLL_MS = 10;
const RETRY_MS = 100;
/** How long a Postgres that passes for ready may not answer, or a predecessor's processes may linger. */
const PATIENCE_MS = 30 * SECOND;

/**
 * Makes sure that Postgres runs and answers, starting it if it doesn't. Call it with the mutex held.
 *
 * @throws Error with one line when it can't be brought to answer; the signal's reason when aborted.
 */
export async function ensureRunning(layout: Layout, options: StartOptions): Promise<Postmaster> {
  let patienceEnds = performance.now() + PATIENCE_MS;
  const startEnds = performance.now() + START_TIMEOUT_MS;
  let trouble = 'it ended again and again';
  for (;;) {
    options.signal?.throwIfAborted();
    const running = findRunning(layout);
    if (running === null) {
      if (await startPostgres(layout, options)) continue;
      await Bun.sleep(RETRY_MS);
    } else if (running.status === 'ready') {
      const failure = await checkDatabase(layout, running.port);
      if (failure === null) return running;
      trouble = failure;
      await Bun.sleep(RETRY_MS);
    } else {
      // Whoever started or stopped it was killed meanwhile; it finishes by itself, and recovery may take long.
      trouble = `it has been ${running.status} for too long`;
      if (running.status === 'starting') patienceEnds = Math.min(performance.now() + PATIENCE_MS, startEnds);
      await Bun.sleep(POLL_MS);
    }
    if (performance.now() > patienceEnds) {
      const who = running === null ? 'Postgres' : `Postgres (PID ${running.pid})`;
      throw new Error(`the embedded ${who} in ${layout.home} can't be used: ${trouble}; see ${layout.log}`);
    }
  }
}
