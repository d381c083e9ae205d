import { codeOf, RefusedError } from '../errors.ts';
import { SECOND } from '../units.ts';
import { startCanary } from './canary.ts';
import type { Sql } from './connect.ts';

const CHECK_EVERY_MS = 2 * SECOND;
/** Shorter than the interval, so that no two overlap. */
const CHECK_TIMEOUT_MS = 1.5 * SECOND;
/** So many checks in a row without an answer take ten seconds. A restarted server answers within this time. */
const SILENT_CHECKS = 5;

const NOTHING_HALF_DONE = 'readers see the old data or the new, never a mix; run the command again';

export function sessionLost(cause?: unknown): RefusedError {
  return new RefusedError(`the connection to Postgres was lost: ${NOTHING_HALF_DONE}`, { cause });
}

function postgresSilent(): RefusedError {
  return new RefusedError(
    `Postgres has not answered for ${(SILENT_CHECKS * CHECK_EVERY_MS) / SECOND} s: ${NOTHING_HALF_DONE} when it answers (DATABASE_URL)`,
  );
}

const LOST = /^(CONNECTION_\w+|CONNECT_TIMEOUT|ECONNRESET|ECONNREFUSED|EPIPE|57P0[123])$/;

export const isSessionLost = (error: unknown): boolean => LOST.test(codeOf(error) ?? '');

/**
 * Checks a session from a second connection every two seconds. The session itself would never notice that its host is lost,
 * or that a standby was promoted. Silence is counted in checks, not in time, because a check whose answer this process was too busy to read
 * says nothing about Postgres. The first check is made before this returns, so that the connection exists before the work.
 *
 * @param session.startedAt in Postgres's notation. A process id alone may have been reused, or belong to another server
 * @param connect opens a connection for the checks alone
 * @returns `lost`, which rejects with the operator's message when the session has ended or Postgres has been silent for ten
 * seconds; `stop`, which ends the checks and their connection
 */
export async function watchSession(
  connect: () => Sql,
  session: { pid: number; startedAt: string },
  { everyMs, timeoutMs } = { everyMs: CHECK_EVERY_MS, timeoutMs: CHECK_TIMEOUT_MS },
) {
  const { pid, startedAt } = session;
  const { promise: lost, reject } = Promise.withResolvers<never>();
  lost.catch(() => {});
  let silentChecks = 0;
  const { run, stop } = startCanary(connect, {
    ask: (sql) => sql`SELECT FROM pg_stat_activity WHERE pid = ${pid} AND backend_start::text = ${startedAt}`,
    everyMs,
    timeoutMs,
    onAnswer(rows) {
      silentChecks = 0;
      if (rows.length === 0) reject(sessionLost());
    },
    // Silence, or a restart: the next checks show which.
    onFailure() {
      silentChecks += 1;
      if (silentChecks === SILENT_CHECKS) reject(postgresSilent());
    },
  });
  await run();
  return { lost, stop };
}
