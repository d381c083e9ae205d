import { inPages } from '../../platform/postgres/batches.ts';
import { isLockTimeout, type Sql } from '../../platform/postgres/connect.ts';
import { MINUTE } from '../../platform/units.ts';
import { findLocked } from '../accounts/locked.ts';
import { callRows, callsOfBatch, makeActivityDays, writeActivity } from './activity.ts';
import { type Call, REPEAT_WINDOW_MS } from './call.ts';
import { addDailyCounts } from './daily-counts.ts';

/**
 * A void or a refund may come this long after its charge, because the last sending of a request has a minute to end. Until then the
 * charge's row stays: a void that misses it would refund nothing. So does the row of a void, for a charge that arrives after it.
 */
export const REFUND_WINDOW_MS = REPEAT_WINDOW_MS + MINUTE;

/** Calls of a row of the journal at most: those of a batch. */
export const MAX_CALLS = 500;

/** Calls that one statement refunds, besides those of its last row: so long its accounts stay locked. */
const CALLS_AT_ONCE = 1000;

/** Some credits of a call that come back. */
export interface Refund extends Call {
  /** UUID of this refund, which is idempotent by it. */
  id: string;
  /** The charge. */
  attempt: string;
  /** Purchased credits among those of the call. */
  purchased: number;
}

/**
 * Voids an attempt to charge whose outcome is unknown, so that its calls cost nothing. Idempotent, and takes no account's lock.
 *
 * An attempt that was charged keeps its row, marked: the roll-up refunds its credits. An attempt that was not charged gets an
 * empty row: should its statement arrive later, its insert meets the key and the whole statement rolls back. If the statement
 * is running, the unique index makes this one wait for its end.
 * @param from SQL: `FROM` a step without whose row nothing is voided
 */
export function voidAttempt(sql: Sql, attempt: string, from = sql``) {
  return sql`
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, counted, owed)
    SELECT ${attempt}::uuid, now(), '{}', '{}', '{}', '{}', true, true ${from}
    ON CONFLICT (attempt) DO UPDATE SET owed = true`;
}

/**
 * Stores refunds: inserts for each a row with the time of its charge, which is owed and which the roll-up refunds like any other. They
 * count as rolled up, because the original batch is counted with all its calls. A batch older than {@link REFUND_WINDOW_MS} may be
 * gone from the journal, and nothing of it can be refunded.
 *
 * Rows are inserted in the order of their ids, so that a statement meets an earlier one of the same refunds without a deadlock.
 * @param charges SQL: the rows of the journal that are refunded
 */
export function refundCredits(sql: Sql, refunds: Refund[], charges = sql`call_journal`) {
  const each = <Value>(read: (refund: Refund) => Value) => refunds.map(read);
  return sql`
    INSERT INTO call_journal (attempt, at, spent_at, account_ids, key_ids, kinds, calls, activity, purchased, budgets, counted, owed)
    SELECT id, at, spent_at, ARRAY[account_id], ARRAY[key_id], ARRAY[kind], ARRAY[credits], entry,
      jsonb_build_object(account_id, of_them), budgets, true, true
    FROM unnest(${each(({ id }) => id)}::uuid[], ${each(({ attempt }) => attempt)}::uuid[],
        ${each(({ accountId }) => accountId)}::text[], ${each(({ keyId }) => keyId)}::text[], ${each(({ kind }) => kind)}::text[],
        ${each(({ credits }) => credits)}::bigint[], ${each(({ activity = null }) => activity)}::text[],
        ${each(({ purchased }) => purchased)}::bigint[])
      AS refund (id, attempt, account_id, key_id, kind, credits, entry, of_them)
      JOIN ${charges} USING (attempt)
    ORDER BY id
    ON CONFLICT (attempt) DO NOTHING`;
}

/**
 * Refunds the credits that the journal's rows owe: of charges that were voided, and of refunds. Their calls leave the day's counts.
 * A row with a locked account is left for the next time, and so is every other row of that account.
 *
 * @param countCharges counts the charges from before the owed rows were read, so that a return stands behind its charge in the
 *   activity, unless the charge is locked
 */
export async function refundOwed(sql: Sql, countCharges = async (): Promise<void> => {}): Promise<void> {
  const locked = new Set<string>();
  for await (const rows of inPages<OwedRow>((last) => owedRows(sql, last))) {
    await countCharges();
    await makeActivityDays(sql);
    await refundUnlocked(rows);
  }

  async function refundUnlocked(rows: OwedRow[]): Promise<void> {
    const free = rows.filter(({ accountIds }) => !accountIds.some((id) => locked.has(id)));
    const accountIds = free.flatMap((row) => row.accountIds);
    if (free.length === 0) return;
    try {
      await refundRows(
        sql,
        free.map(({ attempt }) => attempt),
        accountIds.length,
      );
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      const found = await findLocked(sql, accountIds);
      for (const { id } of found) locked.add(id);
      if (found.length > 0) await refundUnlocked(free);
    }
  }
}

interface OwedRow {
  attempt: string;
  accountIds: string[];
}

/** The journal's rows that owe credits, in the order of their ids, behind the last one: as many as one statement refunds. */
const owedRows = (sql: Sql, last?: OwedRow) => sql<OwedRow[]>`
  SELECT attempt, account_ids AS "accountIds"
  FROM (
    SELECT attempt, account_ids, sum(cardinality(account_ids)) OVER (ORDER BY attempt) - cardinality(account_ids) AS calls_before
    FROM (SELECT attempt, account_ids FROM call_journal
      WHERE owed AND account_ids <> '{}' AND attempt > ${last?.attempt ?? '00000000-0000-0000-0000-000000000000'}
      ORDER BY attempt LIMIT ${CALLS_AT_ONCE}) AS page) AS summed
  WHERE calls_before < ${CALLS_AT_ONCE} ORDER BY attempt`;

/**
 * Empties rows of the journal and refunds what they took. The empty rows stay for a while, because the same void or refund can
 * come again.
 *
 * Within the period of a charge, the purchased credits that its batch took come back at least. More come back if later calls
 * took purchased credits because this batch had used the allowance. A later period (`period_opened_at`) keeps its `used`, and
 * only the purchased credits of the batch come back. So an account whose batches are all refunded has what it was granted,
 * whatever happens meanwhile. Both instants are Postgres's clock under the account's lock.
 *
 * A budget of a key gets back what it counted, as long as the window of the charge lasts. It counted the calls of charges that name
 * it, and all calls of the window from before `period_opened_at`.
 *
 * The step that locks a counter reads it as it is then. The update computes from that, not from the statement's snapshot.
 * @param calls those of the rows together
 */
function refundRows(sql: Sql, attempts: string[], calls: number) {
  return sql`
    WITH numbers AS MATERIALIZED (SELECT take_activity_numbers(${calls}) AS taken), batch AS (
      UPDATE call_journal SET account_ids = '{}', key_ids = '{}', kinds = '{}', calls = '{}', activity = NULL, purchased = NULL,
        budgets = NULL, counted = true
      WHERE (SELECT taken FROM numbers) IS NOT NULL AND attempt = ANY (${attempts}::uuid[]) AND owed AND account_ids <> '{}'
      RETURNING old.*
    ), entry AS MATERIALIZED (
      SELECT entry.*, attempt, at, spent_at, counted, coalesce((purchased ->> entry.account_id)::bigint, 0) AS purchased,
        coalesce(entry.key_id = ANY (budgets), false) AS is_budgeted
      FROM batch, ${callsOfBatch(sql)}
      WHERE entry.calls > 0
    ), returned AS (${writeActivity(sql, 'return', callRows(sql, sql`SELECT account_id, at, key_id, activity, -calls FROM entry WHERE counted`))}
    ), counter AS MATERIALIZED (
      SELECT c.*, included_of(c) AS included FROM counters c
      WHERE id = ANY (ARRAY(SELECT account_id FROM entry UNION ALL SELECT key_id FROM entry))
      ORDER BY id FOR NO KEY UPDATE
    ), owed AS (
      SELECT id, coalesce(sum(calls) FILTER (WHERE is_current), 0)::bigint AS calls,
        coalesce(sum(purchased) FILTER (WHERE is_current), 0) AS purchased,
        coalesce(sum(purchased) FILTER (WHERE NOT is_current), 0) AS purchased_before
      FROM (
        SELECT id, purchased, CASE WHEN per IS NULL THEN period_opened_at <= spent_at
            ELSE at >= period_start AND (is_budgeted OR spent_at < period_opened_at) END AS is_current, sum(calls) AS calls
        FROM entry CROSS JOIN LATERAL unnest(ARRAY[account_id, key_id]) AS of (counter_id) JOIN counter ON id = counter_id
        GROUP BY attempt, 1, 2, 3) AS row
      GROUP BY id
    ), counted AS (
      UPDATE counters c SET credits = a.credits + back + back_before, used = greatest(a.used - calls, 0),
        used_purchased = a.used_purchased - back, purchased_before = a.purchased_before - back_before
      FROM (
        SELECT counter.*, owed.calls, least(owed.calls, used_purchased, greatest(owed.purchased, used - included)) AS back,
          least(owed.purchased_before, counter.purchased_before) AS back_before
        FROM counter JOIN owed USING (id)) AS a
      WHERE c.id = a.id AND (calls > 0 OR back_before > 0)
    )
    ${addDailyCounts(sql, sql`SELECT account_id, at, key_id, kind, -calls AS calls, 0 AS credits FROM entry WHERE counted`, { areErrors: false })}`;
}
