import type { Log } from '../../platform/observability/log.ts';
import { only } from '../../platform/postgres/answer.ts';
import { removeInParts } from '../../platform/postgres/batches.ts';
import { isLockTimeout, type Sql } from '../../platform/postgres/connect.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { SECOND } from '../../platform/units.ts';
import { settleBudgets } from '../keys/limit-key.ts';
import { callRows, callsOfBatch, writeActivity } from './activity.ts';
import { addDailyCounts } from './daily-counts.ts';
import { MAX_CALLS, REFUND_WINDOW_MS, refundOwed } from './refund.ts';

const ROLL_UP_EVERY_MS = 5 * SECOND;
/**
 * Rows of the journal in one statement, and calls, which take Postgres 0.1 s of CPU with their activity. More calls of an account in
 * one statement are cheaper: the account's rows are written once.
 */
const ROWS_AT_ONCE = 5000;
const CALLS_AT_ONCE = 20_000;
/** Nothing is purged for this long after a start or an outage, because voids of earlier batches may still be on their way. */
const PURGE_PAUSE_MS = 30 * SECOND;

/**
 * Adds the journal's calls to those of each day, by account, key and kind, and to the activity. The view `calls_by_day` reads
 * journal and days, so that a reader of it sees no difference. Processes take turns by the numbers of the activity.
 *
 * @returns how many rows of the journal were counted, and whether there may be more
 */
export async function rollUpCalls(sql: Sql): Promise<{ rows: number; isFull: boolean }> {
  const [journal] = await sql<{ isEmpty: boolean }[]>`
    SELECT make_activity_days(), NOT EXISTS (SELECT FROM call_journal WHERE NOT counted AND NOT owed) AS "isEmpty"`;
  if (journal!.isEmpty) return { rows: 0, isFull: false };
  const counted = await sql<{ rows: number; isFull: boolean }[]>`
    WITH numbers AS MATERIALIZED (SELECT take_activity_numbers(${CALLS_AT_ONCE}) AS taken), batch AS (
      UPDATE call_journal SET counted = true
      WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM call_journal
        WHERE NOT counted AND NOT owed AND ctid = ANY (ARRAY(
          SELECT ctid FROM (
            SELECT ctid, sum(cardinality(account_ids)) OVER (ROWS UNBOUNDED PRECEDING) AS so_far
            FROM (SELECT ctid, account_ids FROM call_journal
              WHERE (SELECT taken FROM numbers) IS NOT NULL AND NOT counted AND NOT owed LIMIT ${ROWS_AT_ONCE}) AS first) AS summed
          WHERE so_far <= ${CALLS_AT_ONCE}))
        FOR UPDATE SKIP LOCKED))
      RETURNING *
    ), entry AS MATERIALIZED (
      SELECT account_id COLLATE "C" AS account_id, key_id, kind, entry.calls, entry.activity, at
      FROM batch, ${callsOfBatch(sql)}
      WHERE entry.calls > 0
    ), daily AS (
      ${addDailyCounts(sql, sql`SELECT account_id, at, key_id, kind, calls, 0 AS credits FROM entry`, { areErrors: false })}
    ), charged AS (${writeActivity(sql, 'charge', callRows(sql, sql`SELECT account_id, at, key_id, activity, calls FROM entry`))}
    )
    SELECT count(*) AS rows,
      count(*) >= ${ROWS_AT_ONCE} OR coalesce(sum(cardinality(account_ids)), 0) > ${CALLS_AT_ONCE - MAX_CALLS} AS "isFull"
    FROM batch`;
  return only(counted);
}

/** Deletes rows of the journal that no void can concern any more, and requests that no sending can find. */
export async function purgeJournal(sql: Sql): Promise<void> {
  const oldest = sql`now() - ${REFUND_WINDOW_MS}::float8 * interval '1 millisecond'`;
  const isOld = sql`spent_at < ${oldest} AND (NOT owed OR account_ids = '{}')`;
  await removeInParts(sql, 'call_journal', sql`counted AND ${isOld}`);
  await removeInParts(sql, 'keyed_requests', sql`live_until < ${oldest}`);
}

/** Keeps the journal short while the service runs. The next process rolls up what is left when it stops. */
export function startCallRollup(sql: Sql, log: Log, cleanup: Cleanup) {
  let succeedingSinceMs = Number.POSITIVE_INFINITY;

  /** The process whose turn it is counts the calls of all, so another one may wait in vain. */
  async function countCharges(): Promise<void> {
    try {
      for (let isFull = true; isFull; ) ({ isFull } = await rollUpCalls(sql));
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
  }

  async function rollUp(): Promise<void> {
    const sinceMs = Math.min(succeedingSinceMs, performance.now());
    succeedingSinceMs = Number.POSITIVE_INFINITY;
    await countCharges();
    await refundOwed(sql, countCharges);
    await settleBudgets(sql);
    if (performance.now() - sinceMs > PURGE_PAUSE_MS) await purgeJournal(sql);
    succeedingSinceMs = sinceMs;
  }

  const rollups = startInterval(rollUp, ROLL_UP_EVERY_MS, (error) =>
    log.warn({ err: error }, 'the journal of calls was not rolled up'),
  );
  cleanup.add('the roll-up of calls', rollups.stop);
  return rollups;
}
