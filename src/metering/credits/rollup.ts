import type { Log } from '../../platform/observability/log.ts';
import { only } from '../../platform/postgres/answer.ts';
import { removeInParts } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { SECOND } from '../../platform/units.ts';
import { REFUND_WINDOW_MS, refundOwed } from './refund.ts';

const ROLL_UP_EVERY_MS = 5 * SECOND;
/** Rows of the journal in one statement. With 500 calls each it takes a tenth of its timeout. */
const ROWS_AT_ONCE = 400;
/** Nothing is purged for this long after a start or an outage, because voids of earlier batches may still be on their way. */
const PURGE_PAUSE_MS = 30 * SECOND;

/**
 * Adds the journal's calls to those of each day, by account, key and kind. The view `calls_by_day` reads both, so that a
 * reader sees no difference. Safe in any number of processes: rows that another one is rolling up are skipped.
 *
 * @returns how many rows of the journal were counted
 */
export async function rollUpCalls(sql: Sql, atOnce = ROWS_AT_ONCE): Promise<number> {
  const counted = await sql<{ rows: number }[]>`
    WITH batch AS (
      UPDATE call_journal SET counted = true
      WHERE attempt = ANY (ARRAY(
        SELECT attempt FROM call_journal WHERE NOT counted AND NOT owed LIMIT ${atOnce} FOR UPDATE SKIP LOCKED))
      RETURNING *
    ), daily AS (
      INSERT INTO daily_calls AS daily (account_id, day, key_id, kind, calls)
      SELECT account_id, (at AT TIME ZONE 'UTC')::date AS day, key_id, kind, sum(entry.calls)
      FROM batch, unnest(account_ids, key_ids, kinds, batch.calls) AS entry (account_id, key_id, kind, calls)
      WHERE entry.calls > 0
      GROUP BY account_id, day, key_id, kind
      ORDER BY account_id, day, key_id, kind
      ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = daily.calls + excluded.calls
    )
    SELECT count(*) AS rows FROM batch`;
  return only(counted).rows;
}

/** Deletes rows of the journal that no void can concern any more. */
export async function purgeJournal(sql: Sql): Promise<void> {
  const isOld = sql`spent_at < now() - ${REFUND_WINDOW_MS}::float8 * interval '1 millisecond'`;
  await removeInParts(sql, 'call_journal', sql`counted AND ${isOld} AND (NOT owed OR account_ids = '{}')`);
}

/** Keeps the journal short while the service runs. The next process rolls up what is left when it stops. */
export function startCallRollup(sql: Sql, log: Log, cleanup: Cleanup) {
  let succeedingSinceMs = Number.POSITIVE_INFINITY;

  async function rollUp(): Promise<void> {
    const sinceMs = Math.min(succeedingSinceMs, performance.now());
    succeedingSinceMs = Number.POSITIVE_INFINITY;
    await refundOwed(sql);
    for (let rows = ROWS_AT_ONCE; rows === ROWS_AT_ONCE; ) {
      rows = await rollUpCalls(sql);
    }
    if (performance.now() - sinceMs > PURGE_PAUSE_MS) await purgeJournal(sql);
    succeedingSinceMs = sinceMs;
  }

  const rollups = startInterval(rollUp, ROLL_UP_EVERY_MS, (error) =>
    log.warn({ err: error }, 'the journal of calls was not rolled up'),
  );
  cleanup.add('the roll-up of calls', rollups.stop);
  return rollups;
}
