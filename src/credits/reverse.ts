import { LOCK_NOT_AVAILABLE, type Sql } from '../postgres/connect.ts';

/**
 * Returns the credits of all batches that were charged and then voided, and takes their calls off the day's counts. A batch
 * with an account that somebody has locked is left for the next time.
 */
export async function reverseVoided(sql: Sql): Promise<void> {
  const rows = await sql<{ attempt: string }[]>`
    SELECT attempt FROM call_journal WHERE voided AND account_ids <> '{}'`;
  for (const { attempt } of rows) {
    try {
      await reverse(sql, attempt);
    } catch (error) {
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
    }
  }
}

/**
 * Empties the batch's row and returns what it took, in one statement. The empty row stays for a while, as that of an attempt that
 * was never charged: the same void or return can come again.
 *
 * Within the period that was charged, purchased credits come back first, as if the calls had never been: calls that paid with
 * them since would have had the allowance. If another period has opened since (`period_opened_at`), `used` is
 * of that one and stays; what the calls themselves took of purchased credits comes back. Both instants are
 * Postgres's clock under the account's lock, because neither the instant that calls count at nor the begin of a period tells:
 * a subscription can be renewed from an instant that has passed.
 */
async function reverse(sql: Sql, attempt: string): Promise<void> {
  await sql`
    WITH batch AS (
      UPDATE call_journal SET account_ids = '{}', key_ids = '{}', kinds = '{}', calls = '{}', purchased = NULL, counted = true
      WHERE attempt = ${attempt} AND voided AND account_ids <> '{}'
      RETURNING old.*
    ), entry AS MATERIALIZED (
      SELECT entry.*, at, spent_at, counted, coalesce((purchased ->> entry.account_id)::bigint, 0) AS purchased
      FROM batch, unnest(account_ids, key_ids, kinds, batch.calls) AS entry (account_id, key_id, kind, calls)
      WHERE entry.calls > 0
    ), owed AS MATERIALIZED (
      SELECT account_id AS id, spent_at, purchased, sum(calls)::bigint AS calls FROM entry GROUP BY id, spent_at, purchased
    ), returned AS MATERIALIZED (
      SELECT owed.id, owed.calls, is_current, CASE WHEN is_current
        THEN least(owed.calls, b.used_purchased, greatest(b.used - coalesce(b.included_credits, plans.included_credits), 0))
        ELSE owed.purchased END AS credits
      FROM balances b JOIN owed ON owed.id = b.account_id JOIN plans ON plans.name = b.period_plan
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
