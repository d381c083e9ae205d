import { codeOf, RefusedError } from '../errors.ts';
import { withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';
import type { Sql } from './connect.ts';

/** A session whose work may take an hour: its statements have no time-out. */
export interface Session {
  pid: number;
  /** As Postgres writes it: a process id alone may be another's by now, or on another server. */
  startedAt: string;
}

const LOOK_EVERY_MS = 2 * SECOND;
const LOOK_TIMEOUT_MS = 2 * SECOND;
/** A server that restarts answers again by then. */
const LONGEST_SILENCE_MS = 10 * SECOND;

const NOTHING_HALF_DONE = 'readers see the old data or the new, never a mix; run the command again';

/** What a command says whose connection to Postgres has ended under it. */
export function sessionLost(cause?: unknown): RefusedError {
  return new RefusedError(`the connection to Postgres was lost: ${NOTHING_HALF_DONE}`, { cause });
}

function postgresSilent(): RefusedError {
  return new RefusedError(
    `Postgres has not answered for ${LONGEST_SILENCE_MS / SECOND} s: ${NOTHING_HALF_DONE} when it answers (DATABASE_URL)`,
  );
}

const LOST = /^(CONNECTION_\w+|CONNECT_TIMEOUT|ECONNRESET|ECONNREFUSED|EPIPE|57P0[123])$/;

/** Whether an error of postgres.js says that its connection is gone. */
export const isSessionLost = (error: unknown): boolean => LOST.test(codeOf(error) ?? '');

/**
 * Looks at a session from a second connection every two seconds: of a host that is gone without a word, or of a standby
 * that has been promoted, the session itself would never hear.
 *
 * @param sql of the looks alone, with a `query_timeout`: a connection that is silent keeps no look from the next host
 * @returns `lost`, which rejects with what an operator is told when the session is gone, or when Postgres has been silent for
 * ten seconds; `stop` ends the looks, and the connection
 */
export function watchSession(sql: Sql, { pid, startedAt }: Session) {
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
      // Silence, or a restart: the next looks tell.
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
