import { codeOf, RefusedError } from '../errors.ts';
import { withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';
import type { Sql } from './connect.ts';

const LOOK_EVERY_MS = 2 * SECOND;
const LOOK_TIMEOUT_MS = 2 * SECOND;
/** A restarted server answers within this time. */
const LONGEST_SILENCE_MS = 10 * SECOND;

const NOTHING_HALF_DONE = 'readers see the old data or the new, never a mix; run the command again';

export function sessionLost(cause?: unknown): RefusedError {
  return new RefusedError(`the connection to Postgres was lost: ${NOTHING_HALF_DONE}`, { cause });
}

function postgresSilent(): RefusedError {
  return new RefusedError(
    `Postgres has not answered for ${LONGEST_SILENCE_MS / SECOND} s: ${NOTHING_HALF_DONE} when it answers (DATABASE_URL)`,
  );
}

const LOST = /^(CONNECTION_\w+|CONNECT_TIMEOUT|ECONNRESET|ECONNREFUSED|EPIPE|57P0[123])$/;

export const isSessionLost = (error: unknown): boolean => LOST.test(codeOf(error) ?? '');

/**
 * Checks a session from a second connection every two seconds. The session itself would never notice that its host is lost,
 * or that a standby was promoted.
 *
 * @param session.startedAt in Postgres's notation. A process id alone may have been reused, or belong to another server
 * @param sql for the checks alone, with a `query_timeout`, so that a silent connection does not keep a check from the next host
 * @returns `lost`, which rejects with the operator's message when the session has ended or Postgres has been silent for ten
 * seconds; `stop`, which ends the checks and their connection
 */
export function watchSession(sql: Sql, session: { pid: number; startedAt: string }) {
  const { pid, startedAt } = session;
  const { promise: lost, reject } = Promise.withResolvers<never>();
  lost.catch(() => {});
  let answeredAtMs = performance.now();
  let isLooking = false;

  async function look(): Promise<void> {
    if (performance.now() - answeredAtMs > LONGEST_SILENCE_MS) reject(postgresSilent());
    if (isLooking) return;
    isLooking = true;
    try {
      const query = sql`SELECT FROM pg_stat_activity WHERE pid = ${pid} AND backend_start::text = ${startedAt}`;
      const rows = await withTimeout(query, LOOK_TIMEOUT_MS, 'Postgres');
      answeredAtMs = performance.now();
      if (rows.length === 0) reject(sessionLost());
    } catch {
      // Silence, or a restart. The next checks will tell.
    } finally {
      isLooking = false;
    }
  }

  const timer = setInterval(() => void look(), LOOK_EVERY_MS);
  return {
    lost,
    stop: async () => {
      clearInterval(timer);
      await sql.end({ timeout: 0 });
    },
  };
}
