import { LOCK_NOT_AVAILABLE, type Sql } from '../postgres/connect.ts';
import type { Call } from './calls.ts';

/**
 * Voids an attempt to charge whose outcome is unknown, so that its calls cost nothing. Idempotent, and takes no account's lock.
 *
 * An attempt that was charged keeps its row, marked: the roll-up returns its credits. An attempt that was not charged gets an
 * empty row: should its statement arrive later, its insert meets the key and the whole statement rolls back. If the statement
 * is running, the unique index makes this one wait for its end.
 */
export function voidAttempt(sql: Sql, attempt: string) {
  return sql`
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, counted, voided)
    VALUES (${attempt}, now(), '{}', '{}', '{}', '{}', true, true)
    ON CONFLICT (attempt) DO UPDATE SET voided = true`;
}

/**
 * Returns one credit of a batch: a voided batch of this one call, charged when its batch was, which the roll-up returns as any
 * other. Its call counts as rolled up, because its batch is counted with all calls. A batch older than ten minutes is gone
 * from the journal, and none of its calls can be given back.
 * @param id UUID of this one return, which is idempotent by it
 */
export function giveBackCall(sql: Sql, id: string, call: Call, attempt: string, isPurchased: boolean) {
  const { accountId, keyId, kind } = call;
  return sql`
    INSERT INTO call_journal (attempt, at, spent_at, account_ids, key_ids, kinds, calls, purchased, counted, voided)
    SELECT ${id}::uuid, at, spent_at, ARRAY[${accountId}::text], ARRAY[${keyId}::text], ARRAY[${kind}::text], '{1}',
      jsonb_build_object(${accountId}::text, ${isPurchased ? 1 : 0}::bigint), true, true
    FROM call_journal WHERE attempt = ${attempt}
    ON CONFLICT (attempt) DO NOTHING`;
}

/**
 * Returns the credits of all batches that were charged and then voided, and takes their calls off the day's counts. A batch
 * with an account that somebody has locked is left for the next time.
 */
export async function reverseVoided(sql: Sql): Promise<void> {
  const rows = await sql<{ attempt: string }[]>`
    SELECT attempt FROM call_journal WHERE voided AND account_ids <> '{}'`;
  for (const { attempt } of rows) {
    await reverse(sql, attempt).catch((error) => {
      if (error.code !== LOCK_NOT_AVAILABLE) throw error;
    });
  }
}

/**
 * Empties the batch's row and returns what it took. The empty row stays for a while, because the same void or return can come
 * again.
 *
 * Within the period that was charged, purchased credits come back first, as if the calls had never been: calls that paid with
 * them since would have had the allowance. If a later period is open (`period_opened_at`), `used` is of that one and stays, and
 * the purchased credits that the calls took come back. Both instants are Postgres's clock under the account's lock.
 */
function reverse(sql: Sql, attempt: string) {
  return sql`
    WITH batch AS (
      UPDATE call_journal SET account_ids = '{}', key_ids = '{}', kinds = '{}', calls = '{}', purchased = NULL, counted = true
      WHERE attempt = ${attempt} AND voided AND account_ids <> '{}'
      RETURNING old.*
    ), entry AS MATERIALIZED (
      SELECT entry.*, at, spent_at, counted, coalesce((purchased ->> entry.account_id)::bigint, 0) AS purchased
      FROM batch, unnest(account_ids, key_ids, kinds, batch.calls) AS entry (account_id, key_id, kind, calls)
      WHERE entry.calls > 0
    ), returned AS MATERIALIZED (
      SELECT b.account_id AS id, owed.calls, is_current, CASE WHEN is_current
        THEN least(owed.calls, b.used_purchased, greatest(b.used - coalesce(b.included_credits, plans.included_credits), 0))
        ELSE owed.purchased END AS credits
      FROM (SELECT account_id AS id, spent_at, purchased, sum(calls)::bigint AS calls FROM entry GROUP BY 1, 2, 3) AS owed
        JOIN balances b ON b.account_id = owed.id JOIN plans ON plans.name = b.period_plan
        CROSS JOIN LATERAL (SELECT b.period_opened_at <= owed.spent_at AS is_current) AS period
      ORDER BY b.account_id FOR NO KEY UPDATE OF b
    ), balanced AS (
      UPDATE balances b SET credits = b.credits + r.credits,
        used = CASE WHEN is_current THEN greatest(b.used - r.calls, 0) ELSE b.used END,
        used_purchased = CASE WHEN is_current THEN b.used_purchased - r.credits ELSE b.used_purchased END
      FROM returned r WHERE b.account_id = r.id
    )
    INSERT INTO daily_calls AS daily (account_id, day, key_id, kind, calls)
    SELECT account_id, (at AT TIME ZONE 'UTC')::date AS day, key_id, kind, -sum(calls) FROM entry WHERE counted
    GROUP BY account_id, day, key_id, kind
    ORDER BY account_id, day, key_id, kind
    ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = daily.calls + excluded.calls`;
}
