import { numberArray, textArray } from '../postgres/arrays.ts';
import type { Sql } from '../postgres/connect.ts';
import type { CallGroup } from './calls.ts';

export interface SpendOptions {
  /** UUID of this one statement. It becomes the primary key of its row in the journal, so it can be voided. */
  attempt: string;
  /** The instant that the calls count at. `null`: Postgres's clock. */
  instant: Date | null;
}

/** What a group of calls got from {@link spendWithRollover}. */
export interface SpendResult {
  /** 1-based position of the group in the statement. */
  position: number;
  /** Credits that were charged, of those that its calls need. */
  admitted: number;
  /** The included allowance of the period, credits. */
  included: number;
  periodEnd: Date;
  /** Seconds from the charge to the period's end. */
  untilPeriodEndS: number;
}

/**
 * Charges all calls of each account that can pay for them within its current period, and none of the other accounts. That is
 * nearly every account, nearly always, at half the cost of {@link spendWithRollover}, which handles the rest.
 *
 * Rows are updated, and so locked, in the order of the accounts' ids. The connection's planner settings ensure it
 * (`byKey`, src/postgres/connect.ts): they leave only plans that visit the accounts in that order. If a concurrent
 * statement has changed a row, Postgres evaluates conditions and sums again on the new version.
 *
 * @returns ids of the accounts that were not charged
 */
export async function spendWithinPeriod(
  sql: Sql,
  groups: CallGroup[],
  { attempt, instant }: SpendOptions,
): Promise<Set<string>> {
  const totals = new Map<string, number>();
  for (const { accountId, credits } of groups) {
    totals.set(accountId, (totals.get(accountId) ?? 0) + credits);
  }
  const accountIds = [...totals.keys()].sort();
  const wanted = accountIds.map((id) => totals.get(id)!);
  const { ids, keys, kinds, calls } = columnsOf(groups);
  const now = sql`coalesce(${instant}::timestamptz, now())`;
  const included = sql`
    coalesce(b.included_credits, CASE b.period_plan WHEN 'plus' THEN plans.plus ELSE plans.free END)`;
  const fromPurchased = sql`greatest(wanted.calls - greatest(${included} - b.used, 0), 0)`;
  const spendable = sql`CASE WHEN b.spend_purchased THEN b.credits ELSE 0 END`;
  const [row] = await sql<{ unpaid: string[] | null }[]>`
    WITH asked AS MATERIALIZED (
      SELECT ${accountIds.length}::int AS accounts, ${now} AS instant,
        ${ids}::text[] AS ids, ${keys}::text[] AS keys, ${kinds}::text[] AS kinds, ${calls}::bigint[] AS calls
    ), paid AS (
      UPDATE balances b SET used = b.used + wanted.calls, used_purchased = b.used_purchased + ${fromPurchased},
        credits = b.credits - ${fromPurchased}
      FROM unnest(${textArray(accountIds)}::text[], ${numberArray(wanted)}::bigint[]) AS wanted (id, calls),
        (SELECT max(included_credits) FILTER (WHERE name = 'free') AS free,
          max(included_credits) FILTER (WHERE name = 'plus') AS plus FROM plans) AS plans
      WHERE b.account_id = wanted.id AND ${now} < b.period_end AND ${fromPurchased} <= ${spendable}
      -- RETURNING sees the new row: used beyond the allowance was paid with purchased credits, by these calls or earlier ones.
      RETURNING b.account_id AS id, least(wanted.calls, greatest(b.used - ${included}, 0)) AS from_purchased
    ), outcome AS MATERIALIZED (
      SELECT count(*) AS accounts, jsonb_object_agg(id, from_purchased) FILTER (WHERE from_purchased > 0) AS purchased
      FROM paid
    ), counted AS (
      INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, purchased)
      SELECT ${attempt}::uuid, instant, ids, keys, kinds, calls, purchased
      FROM asked JOIN outcome USING (accounts)
      UNION ALL
      SELECT ${attempt}::uuid, instant, array_agg(entry.id), array_agg(key), array_agg(kind), array_agg(entry.calls), purchased
      FROM asked, outcome, unnest(ids, keys, kinds, asked.calls) AS entry (id, key, kind, calls)
      -- IS TRUE keeps the planner from a row by row join: the subquery is hashed, whatever row counts it expects.
      WHERE outcome.accounts < asked.accounts AND (entry.id IN (SELECT id FROM paid)) IS TRUE
      GROUP BY instant, purchased
    )
    SELECT CASE WHEN outcome.accounts < asked.accounts THEN
      ARRAY (SELECT unnest(ids) EXCEPT SELECT id FROM paid) END AS unpaid
    FROM asked, outcome`;
  // An account that isn't named was charged. Only an answer that is present may say so.
  if (row === undefined) throw new Error('the credit ledger gave no answer');
  return new Set(row.unpaid);
}

/**
 * Charges each account as many calls as it can pay, included credits first (specification, Credits 2 to 4), and opens a new
 * period where the current one has ended. Purchased credits pay only if the account spends them (`account limits --spend-purchased`). The same statement writes the calls to the journal.
 *
 * Rows are locked in the order of the accounts' ids, so two such statements never deadlock. All arithmetic is on the locked
 * rows.
 *
 * @param options.skipLocked skip accounts that another transaction has locked
 * @returns one row a group; none for an account that is gone or was skipped
 */
export function spendWithRollover(
  sql: Sql,
  groups: CallGroup[],
  { attempt, instant, skipLocked }: SpendOptions & { skipLocked: boolean },
) {
  const { ids, keys, kinds, calls } = columnsOf(groups);
  return sql<SpendResult[]>`
    WITH asked AS MATERIALIZED (
      SELECT * FROM unnest(${ids}::text[], ${keys}::text[], ${kinds}::text[], ${calls}::bigint[])
        WITH ORDINALITY AS asked (id, key_id, kind, calls, position)
    ), wanted AS MATERIALIZED (
      SELECT id, sum(calls)::bigint AS calls FROM asked GROUP BY id
    ), locked AS MATERIALIZED (
      SELECT b.account_id AS id, wanted.calls, b.used, b.used_purchased, b.credits, b.included_credits,
        CASE WHEN b.spend_purchased THEN b.credits ELSE 0 END AS spendable, b.plan, b.plan_since, b.plus_anchor, b.plus_until, b.period_plan, b.period_start, b.period_end,
        coalesce(${instant}::timestamptz, now()) AS instant
      FROM wanted JOIN balances b ON b.account_id = wanted.id
      ORDER BY b.account_id
      FOR NO KEY UPDATE OF b ${skipLocked ? sql`SKIP LOCKED` : sql``}
    ), present AS MATERIALIZED (
      SELECT *,
        CASE WHEN instant < period_end
          THEN ROW(period_plan, period_start, period_end)::quota_period
          ELSE account_period(plan, plan_since, plus_anchor, plus_until, instant) END AS period,
        CASE WHEN instant < period_end THEN used ELSE 0 END AS used_before,
        CASE WHEN instant < period_end THEN used_purchased ELSE 0 END AS purchased_before
      FROM locked
    ), priced AS MATERIALIZED (
      SELECT present.*, coalesce(present.included_credits, plans.included_credits) AS included,
        greatest(coalesce(present.included_credits, plans.included_credits) - used_before, 0) AS included_left
      FROM present JOIN plans ON plans.name = (period).plan
    ), decided AS MATERIALIZED (
      SELECT *, clock_timestamp() AS decided_at, least(calls, included_left + spendable) AS admitted,
        greatest(least(calls, included_left + spendable) - included_left, 0) AS from_purchased
      FROM priced
    ), spent AS (
      UPDATE balances b SET
        used = d.used_before + d.admitted,
        used_purchased = d.purchased_before + d.from_purchased,
        credits = d.credits - d.from_purchased,
        period_plan = (d.period).plan,
        period_start = (d.period).starts_at,
        period_end = (d.period).ends_at,
        period_opened_at = CASE WHEN d.instant < d.period_end THEN b.period_opened_at ELSE d.decided_at END
      FROM decided d WHERE b.account_id = d.id AND d.admitted > 0
    ), shared AS MATERIALIZED (
      SELECT asked.*, d.instant, d.included, d.period, least(asked.calls, greatest(d.admitted + asked.calls -
        sum(asked.calls) OVER (PARTITION BY asked.id ORDER BY asked.position), 0))::bigint AS admitted
      FROM asked JOIN decided d USING (id)
    ), counted AS (
      INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, purchased)
      SELECT ${attempt}::uuid, instant, array_agg(id), array_agg(key_id), array_agg(kind), array_agg(admitted),
        (SELECT jsonb_object_agg(id, from_purchased) FROM decided WHERE from_purchased > 0)
      FROM shared WHERE admitted > 0 GROUP BY instant
    )
    SELECT position, admitted, included, (period).ends_at AS "periodEnd",
      extract(epoch FROM (period).ends_at - instant)::float8 AS "untilPeriodEndS"
    FROM shared`;
}

/** The groups as the arrays of an `unnest`. */
function columnsOf(groups: CallGroup[]) {
  return {
    ids: textArray(groups.map(({ accountId }) => accountId)),
    keys: textArray(groups.map(({ keyId }) => keyId)),
    kinds: textArray(groups.map(({ kind }) => kind)),
    calls: numberArray(groups.map(({ credits }) => credits)),
  };
}
