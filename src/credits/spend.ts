import { currentPeriod } from '../accounts/plan.ts';
import { numberArray, textArray } from '../postgres/arrays.ts';
import type { Sql } from '../postgres/connect.ts';
import type { Call, Quota } from './calls.ts';

/** The outcome of {@link chargeCalls}. */
export interface Charge {
  /** Credits of each call, in their order; `null` means that each got all that it needs. */
  spent: number[] | null;
  /** The purchased ones among them, by account; `null` means none. */
  purchased: Record<string, number> | null;
}

/** SQL: the allowance of the balances row `b`, its own or that of the plan. */
const includedCredits = (plan: string) => `
  coalesce(b.included_credits, CASE ${plan}
    WHEN 'plus' THEN (SELECT included_credits FROM plans WHERE name = 'plus')
    ELSE (SELECT included_credits FROM plans WHERE name = 'free') END)`;

/**
 * Each step of the `SET` computes from those before it: the next period if the current one has ended, the counters of the
 * period, the included credits left, the credits that the account pays, and the purchased ones among them. `OFFSET 0` keeps
 * the planner from repeating a step wherever its value is used.
 */
const CHARGE = `
  WITH charged AS (
    UPDATE balances b SET (used, used_purchased, credits, period_plan, period_start, period_end, period_opened_at) = (
      SELECT used_before + paid, purchased_before + purchased, b.credits - purchased, plan,
        coalesce((next).starts_at, b.period_start), coalesce((next).ends_at, b.period_end),
        CASE WHEN next IS NULL THEN b.period_opened_at ELSE clock_timestamp() END
      FROM (SELECT CASE WHEN now() >= b.period_end
          THEN account_period(b.plan, b.plan_since, b.plus_anchor, b.plus_until, now()) END AS next OFFSET 0) AS rollover,
        LATERAL (SELECT coalesce((next).plan, b.period_plan) AS plan,
          CASE WHEN next IS NULL THEN b.used ELSE 0 END AS used_before,
          CASE WHEN next IS NULL THEN b.used_purchased ELSE 0 END AS purchased_before) AS period,
        LATERAL (SELECT greatest(${includedCredits('plan')} - used_before, 0) AS included_left OFFSET 0) AS allowance,
        LATERAL (SELECT least(wanted.credits,
          included_left + CASE WHEN b.spend_purchased THEN b.credits ELSE 0 END) AS paid OFFSET 0) AS payment,
        LATERAL (SELECT greatest(paid - included_left, 0) AS purchased) AS purchase
    )
    FROM (
      SELECT id, sum(needed)::bigint AS credits FROM unnest($2::text[], $5::bigint[]) AS call (id, needed)
      GROUP BY id ORDER BY id
    ) AS wanted
    WHERE b.account_id = wanted.id AND (now() >= b.period_end
      OR b.used < ${includedCredits('b.period_plan')} OR (b.credits > 0 AND b.spend_purchased))
    RETURNING b.account_id AS id, old.credits - new.credits AS purchased,
      new.used - CASE WHEN new.period_opened_at = old.period_opened_at THEN old.used ELSE 0 END AS credits
  ), outcome AS MATERIALIZED (
    SELECT sum(credits) AS credits, jsonb_object_agg(id, purchased) FILTER (WHERE purchased > 0) AS purchased,
      CASE WHEN sum(credits) = (SELECT sum(needed) FROM unnest($5::bigint[]) AS needed) THEN NULL ELSE ARRAY (
        SELECT least(needed, greatest(coalesce((by_account ->> id)::bigint, 0) + needed
          - sum(needed) OVER (PARTITION BY id ORDER BY position), 0))::bigint
        FROM (SELECT jsonb_object_agg(id, credits) AS by_account FROM charged) AS total,
          unnest($2::text[], $5::bigint[]) WITH ORDINALITY AS call (id, needed, position)
        ORDER BY position) END AS spent
    FROM charged
  ), journal AS (
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, purchased)
    SELECT $1::uuid, now(), $2::text[], $3::text[], $4::text[], coalesce(spent, $5::bigint[]), purchased
    FROM outcome WHERE credits > 0
  )
  SELECT spent, purchased FROM outcome`;

/**
 * Charges each account as many credits as it can pay of those that its calls need, included ones first (specification,
 * Credits 2 to 4), and purchased ones if it spends them (`account limits --spend-purchased`). Its earlier calls are served
 * first. An account with nothing to spend is not updated.
 *
 * Rows are updated, and so locked, in the order of the accounts' ids, so two such statements never deadlock: the planner
 * settings of `pointQueries` (src/postgres/connect.ts) leave no other plan. If a concurrent statement has changed a row,
 * Postgres evaluates the `SET` and the `WHERE` again on the new version.
 *
 * @param attempt UUID of this charge. It becomes the primary key of its row in the journal, so it can be voided
 */
export function chargeCalls(sql: Sql, calls: Call[], attempt: string) {
  const parameters = [
    attempt,
    textArray(calls.map(({ accountId }) => accountId)),
    textArray(calls.map(({ keyId }) => keyId)),
    textArray(calls.map(({ kind }) => kind)),
    numberArray(calls.map(({ credits }) => credits)),
  ];
  return sql.unsafe<Charge[]>(CHARGE, parameters, { prepare: true });
}

/** Accounts that no other transaction has locked at the moment. */
export function findUnlocked(sql: Sql, accountIds: string[]) {
  return sql<{ id: string }[]>`
    SELECT account_id AS id FROM balances WHERE account_id = ANY (${textArray(accountIds)}::text[])
    FOR NO KEY UPDATE SKIP LOCKED`;
}

/** The quotas of accounts that got less than they need. */
export function readQuotas(sql: Sql, accountIds: string[]) {
  return sql<(Quota & { id: string })[]>`
    SELECT account_id AS id, coalesce(b.included_credits, plans.included_credits) AS limit, (period).ends_at AS "resetAt",
      greatest(ceil(extract(epoch FROM (period).ends_at - now())), 1)::int AS "retryAfterS"
    FROM balances b CROSS JOIN LATERAL (SELECT ${currentPeriod(sql)} AS period OFFSET 0) AS current
      JOIN plans ON plans.name = (period).plan
    WHERE account_id = ANY (${textArray(accountIds)}::text[])`;
}
