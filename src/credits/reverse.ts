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
 * Deletes the batch's row and returns what it took, in one statement. Nothing can charge the id again: only one that had not
 * been charged by the time of its void can still arrive, and that one keeps its row.
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
      DELETE FROM call_journal WHERE attempt = ${attempt} AND voided AND account_ids <> '{}' RETURNING *
    ), owed AS MATERIALIZED (
      SELECT entry.id, batch.spent_at, sum(entry.calls)::bigint AS calls,
        coalesce((batch.purchased ->> entry.id)::bigint, 0) AS purchased
      FROM batch, unnest(account_ids, batch.calls) AS entry (id, calls) GROUP BY entry.id, batch.spent_at, batch.purchased
    ), locked AS MATERIALIZED (
      SELECT b.account_id AS id, b.used, b.used_purchased, owed.calls, owed.purchased,
        greatest(b.used - coalesce(b.included_credits, plans.included_credits), 0) AS over_allowance,
        b.period_opened_at <= owed.spent_at AS is_current
      FROM balances b JOIN owed ON owed.id = b.account_id JOIN plans ON plans.name = b.period_plan
      ORDER BY b.account_id FOR NO KEY UPDATE OF b
    ), returned AS MATERIALIZED (
      SELECT *, CASE WHEN is_current THEN least(calls, used_purchased, over_allowance) ELSE purchased END AS credits
      FROM locked
    ), balanced AS (
      UPDATE balances b SET
        used = CASE WHEN is_current THEN greatest(r.used - r.calls, 0) ELSE r.used END,
        used_purchased = CASE WHEN is_current THEN r.used_purchased - r.credits ELSE r.used_purchased END,
        credits = b.credits + r.credits
      FROM returned r WHERE b.account_id = r.id
    )
    INSERT INTO daily_calls AS daily (account_id, day, key_id, kind, calls)
    SELECT entry.account_id, (at AT TIME ZONE 'UTC')::date AS day, entry.key_id, entry.kind, -sum(entry.calls)
    FROM batch, unnest(account_ids, key_ids, kinds, batch.calls) AS entry (account_id, key_id, kind, calls)
    WHERE batch.counted
    GROUP BY entry.account_id, day, entry.key_id, entry.kind
    ORDER BY entry.account_id, day, entry.key_id, entry.kind
    ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = daily.calls + excluded.calls`;
}
