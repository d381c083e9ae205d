import { inPages } from '../../platform/postgres/batches.ts';
import { isLockTimeout, type Sql } from '../../platform/postgres/connect.ts';
import { MINUTE } from '../../platform/units.ts';
import { findLocked } from '../accounts/locked.ts';
import { callRows, callsOfBatch, writeActivity } from './activity.ts';
import type { Call } from './call.ts';
import { includedCredits } from './charge-sql.ts';
import { REPEAT_WINDOW_MS } from './once.ts';

/**
 * A void or a refund may come this long after its charge, because the last sending of a request has a minute to end. Until then the
 * charge's row stays: a void that misses it would refund nothing. So does the row of a void, for a charge that arrives after it.
 */
export const REFUND_WINDOW_MS = REPEAT_WINDOW_MS + MINUTE;

/** Calls of a row of the journal at most: those of a batch. */
export const MAX_CALLS = 500;

/** Rows of the journal that are read at once. */
const ROWS_AT_ONCE = 1000;

/**
 * Refunds credits of one call: inserts a row of them with the time of the original charge, which is owed and which the roll-up
 * refunds like any other. They count as rolled up, because the original batch is counted with all its calls. A batch older than
 * {@link REFUND_WINDOW_MS} may be gone from the journal, and nothing of it can be refunded.
 * @param id UUID of this refund, which is idempotent by it @param purchased purchased credits among those of the call
 */
export function refundCredits(sql: Sql, id: string, call: Call, attempt: string, purchased: number) {
  const { accountId, keyId, kind, credits, activity = null } = call;
  return sql`
    INSERT INTO call_journal (attempt, at, spent_at, account_ids, key_ids, kinds, calls, activity, purchased, budgets, counted, owed)
    SELECT ${id}::uuid, at, spent_at, ARRAY[${accountId}::text], ARRAY[${keyId}::text], ARRAY[${kind}::text],
      ARRAY[${credits}::bigint], ${activity}::text, jsonb_build_object(${accountId}::text, ${purchased}::bigint), budgets, true, true
    FROM call_journal WHERE attempt = ${attempt}
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
  const owed = inPages<{ attempt: string; accountIds: string[] }>(
    (last) => sql`
      SELECT attempt, account_ids AS "accountIds" FROM call_journal
      WHERE owed AND account_ids <> '{}' AND attempt > ${last?.attempt ?? '00000000-0000-0000-0000-000000000000'}
      ORDER BY attempt LIMIT ${ROWS_AT_ONCE}`,
  );
  for await (const rows of owed) {
    await countCharges();
    await sql`SELECT make_activity_days()`;
    for (const { attempt, accountIds } of rows) {
      if (accountIds.some((id) => locked.has(id))) continue;
      await refundRow(sql, attempt).catch(async (error) => {
        if (!isLockTimeout(error)) throw error;
        for (const { id } of await findLocked(sql, accountIds)) locked.add(id);
      });
    }
  }
}

/**
 * Empties a row of the journal and refunds what it took. The empty row stays for a while, because the same void or refund can
 * come again.
 *
 * Within the period of the charge, the purchased credits that the batch took come back at least. More come back if later calls
 * took purchased credits because this batch had used the allowance. A later period (`period_opened_at`) keeps its `used`, and
 * only the purchased credits of the batch come back. So an account whose batches are all refunded has what it was granted,
 * whatever happens meanwhile. Both instants are Postgres's clock under the account's lock.
 *
 * A budget of a key gets back what it counted, as long as the window of the charge lasts. It counted the calls of charges that name
 * it, and all calls of the window from before `counted_at`. It is locked after the balances.
 *
 * The step that locks an account reads it as it is then. The update computes from that, not from the statement's snapshot.
 */
function refundRow(sql: Sql, attempt: string) {
  return sql`
    WITH numbers AS MATERIALIZED (SELECT take_activity_numbers(${MAX_CALLS}) AS taken), batch AS (
      UPDATE call_journal SET account_ids = '{}', key_ids = '{}', kinds = '{}', calls = '{}', activity = NULL, purchased = NULL,
        budgets = NULL, counted = true
      WHERE (SELECT taken FROM numbers) IS NOT NULL AND attempt = ${attempt} AND owed AND account_ids <> '{}'
      RETURNING old.*
    ), entry AS MATERIALIZED (
      SELECT entry.*, at, spent_at, counted, coalesce((purchased ->> entry.account_id)::bigint, 0) AS purchased,
        coalesce(entry.key_id = ANY (budgets), false) AS is_budgeted
      FROM batch, ${callsOfBatch(sql)}
      WHERE entry.calls > 0
    ), returned AS (${writeActivity(sql, 'return', callRows(sql, sql`SELECT account_id, at, key_id, activity, -calls FROM entry WHERE counted`))}
    ), account AS MATERIALIZED (
      SELECT b.*, owed.*, ${sql.unsafe(includedCredits('b.period_plan'))} AS included, b.period_opened_at <= spent_at AS is_current
      FROM (SELECT account_id AS id, spent_at, purchased, sum(calls)::bigint AS calls FROM entry GROUP BY 1, 2, 3) AS owed
        JOIN balances b ON b.account_id = owed.id
      ORDER BY b.account_id FOR NO KEY UPDATE OF b
    ), balanced AS (
      UPDATE balances b SET credits = a.credits + back,
        used = CASE WHEN is_current THEN greatest(a.used - calls, 0) ELSE a.used END,
        used_purchased = a.used_purchased - CASE WHEN is_current THEN back ELSE 0 END,
        purchased_before = a.purchased_before - CASE WHEN is_current THEN 0 ELSE back END
      FROM (SELECT *, CASE WHEN is_current THEN least(calls, used_purchased, greatest(purchased, used - included))
        ELSE least(purchased, purchased_before) END AS back FROM account) AS a
      WHERE b.account_id = a.id
    ), budget AS MATERIALIZED (
      SELECT * FROM key_budgets
      WHERE key_id = ANY (ARRAY (SELECT key_id FROM entry)) AND (SELECT count(*) FROM account) > 0
      ORDER BY key_id FOR NO KEY UPDATE
    ), unspent AS (
      UPDATE key_budgets k SET used = greatest(k.used - owed.calls, 0)
      FROM (
        SELECT key_id, sum(calls)::bigint AS calls FROM entry JOIN budget USING (key_id)
        WHERE at >= window_start AND (is_budgeted OR spent_at < counted_at) GROUP BY key_id) AS owed
      WHERE k.key_id = owed.key_id
    )
    INSERT INTO daily_calls AS daily (account_id, day, key_id, kind, calls)
    SELECT account_id, (at AT TIME ZONE 'UTC')::date AS day, key_id, kind, -sum(calls) FROM entry WHERE counted
    GROUP BY account_id, day, key_id, kind
    ORDER BY account_id, day, key_id, kind
    ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = daily.calls + excluded.calls`;
}
