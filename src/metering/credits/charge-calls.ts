import type { Sql } from '../../platform/postgres/connect.ts';
import { periodAt } from '../accounts/plan.ts';
import type { Call, Charge, Quota } from './call.ts';

/** The outcome of {@link chargeCalls}. */
export interface ChargedBatch {
  /** Credits of each call, in their order; `null` means that each got all that it needs. */
  spent: number[] | null;
  /** The purchased ones among them, by account; `null` means none. */
  purchased: Record<string, number> | null;
  /** The quotas of the accounts that got less than they need, at the instant of the charge; `null` means none. */
  quotas: Record<string, Quota> | null;
  /** Credits that are left, by account, if a call asked for it; an account that had none is missing. */
  left: Record<string, number> | null;
}

/** SQL: the allowance of a balances row, its own or its plan's. */
export const includedCredits = (plan: string, row = 'b') => `
  coalesce(${row}.included_credits, CASE ${plan}
    WHEN 'plus' THEN (SELECT included_credits FROM plans WHERE name = 'plus')
    ELSE (SELECT included_credits FROM plans WHERE name = 'free') END)`;

/** SQL: the credits that each account of a batch needs, in the order in which a charge locks the accounts. */
export const CREDITS_BY_ACCOUNT = `
  SELECT id, sum(needed)::bigint AS credits FROM unnest($2::text[], $5::bigint[]) AS call (id, needed) GROUP BY id ORDER BY id`;

/**
 * The `SET` runs in steps: the period, the counters before the charge, included credits left, credits to charge, the purchased
 * ones among them. `OFFSET 0` keeps the planner from repeating a step wherever its value is used.
 */
const chargeStatement = (further = { column: '', value: '', statement: '' }) => `
  WITH charged AS (
    UPDATE balances b SET (used, used_purchased, purchased_before, credits,
      period_plan, period_start, period_end, period_opened_at) = (
      SELECT used_so_far + paid, purchased_so_far + purchased,
        b.purchased_before + b.used_purchased - purchased_so_far, b.credits - purchased,
        (period).plan, (period).starts_at, (period).ends_at,
        CASE WHEN has_ended THEN clock_timestamp() ELSE b.period_opened_at END
      FROM (SELECT now() >= b.period_end AS has_ended, ${periodAt('now()')} AS period OFFSET 0) AS current,
        LATERAL (SELECT CASE WHEN has_ended THEN 0 ELSE b.used END AS used_so_far,
          CASE WHEN has_ended THEN 0 ELSE b.used_purchased END AS purchased_so_far) AS counters,
        LATERAL (SELECT greatest(${includedCredits('(period).plan')} - used_so_far, 0) AS included_left OFFSET 0) AS allowance,
        LATERAL (SELECT least(wanted.credits,
          included_left + CASE WHEN b.spend_purchased THEN b.credits ELSE 0 END) AS paid OFFSET 0) AS payment,
        LATERAL (SELECT greatest(paid - included_left, 0) AS purchased) AS purchase
    )
    FROM (${CREDITS_BY_ACCOUNT}) AS wanted
    WHERE b.account_id = wanted.id AND (now() >= b.period_end
      OR b.used < ${includedCredits('b.period_plan')} OR (b.credits > 0 AND b.spend_purchased))
    RETURNING b.account_id AS id, old.credits - new.credits AS purchased,
      new.used - CASE WHEN new.period_opened_at = old.period_opened_at THEN old.used ELSE 0 END AS credits,
      CASE WHEN $6::boolean THEN greatest(${includedCredits('new.period_plan', 'new')} - new.used, 0)
        + CASE WHEN new.spend_purchased THEN new.credits ELSE 0 END END AS "left"
  ), outcome AS MATERIALIZED (
    SELECT sum(credits) AS credits, jsonb_object_agg(id, purchased) FILTER (WHERE purchased > 0) AS purchased,
      jsonb_object_agg(id, "left") FILTER (WHERE $6::boolean) AS "left",
      CASE WHEN sum(credits) = (SELECT sum(needed) FROM unnest($5::bigint[]) AS needed) THEN NULL ELSE ARRAY (
        SELECT least(needed, greatest(coalesce((by_account ->> id)::bigint, 0) + needed
          - sum(needed) OVER (PARTITION BY id ORDER BY position), 0))::bigint
        FROM (SELECT jsonb_object_agg(id, credits) AS by_account FROM charged) AS total,
          unnest($2::text[], $5::bigint[]) WITH ORDINALITY AS call (id, needed, position)
        ORDER BY position) END AS spent
    FROM charged
  ), journal AS (
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, purchased ${further.column})
    SELECT $1::uuid, now(), $2::text[], $3::text[], $4::text[], coalesce(spent, $5::bigint[]), purchased ${further.value}
    FROM outcome WHERE credits > 0
  )${further.statement}
  SELECT spent, purchased, CASE WHEN spent IS NOT NULL THEN short_quotas($2::text[], $5::bigint[], spent) END AS quotas,
    "left"
  FROM outcome`;
const CHARGE = chargeStatement();
/** Beside the charge the row of its first sending. A refund that comes first writes that row, and the charge meets it. */
const CHARGE_ONCE = chargeStatement({
  column: ', request, sendings, charged, is_short',
  value: ', $8::uuid, 1, credits, spent IS NOT NULL',
  statement: `, sent AS (
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, counted, charge)
    SELECT $7::uuid, now(), '{}', '{}', '{}', '{}', true, $1::uuid FROM outcome WHERE credits > 0
  )`,
});

/**
 * Charges each account for its calls, as far as its credits suffice: included ones first (specification, Credits 2 to 4), then
 * purchased ones, if it spends them (`account limits --spend-purchased`). Its earlier calls are served
 * first. An account with nothing to spend is not updated.
 *
 * Rows are updated, and so locked, in the order of the accounts' ids, so two such statements never deadlock. The planner
 * settings of `pointQueries` (src/platform/postgres/connect.ts) leave no other plan. If a concurrent statement has changed a row,
 * Postgres evaluates the `SET` and the `WHERE` again on the new version.
 *
 * @param attempt UUID of this charge. It becomes the primary key of its row in the journal, so it can be voided
 * @param once UUIDs of a request that is charged once, and of its first sending (src/metering/credits/once.ts). It fails with
 *   `UNIQUE_VIOLATION` if another sending has charged the request
 */
export function chargeCalls(
  sql: Sql,
  calls: Call[],
  attempt: string,
  once?: { request: string; sending: string },
) {
  const parameters = [
    attempt,
    calls.map(({ accountId }) => accountId),
    calls.map(({ keyId }) => keyId),
    calls.map(({ kind }) => kind),
    calls.map(({ credits }) => credits),
    calls.some(({ wantsLeft }) => wantsLeft),
  ];
  if (once === undefined) return sql.unsafe<ChargedBatch[]>(CHARGE, parameters, { prepare: true });
  const { sending, request } = once;
  return sql.unsafe<ChargedBatch[]>(CHARGE_ONCE, [...parameters, sending, request], { prepare: true });
}

/**
 * A call's part of a charge.
 * @returns undefined for an account that is gone: it got nothing, and has no quota either
 */
export function paidOf(
  { accountId, credits, wantsLeft }: Call,
  spent: number,
  charged: ChargedBatch,
): Omit<Charge, 'refund'> | undefined {
  const quota = spent < credits ? charged.quotas?.[accountId] : null;
  if (quota === undefined) return undefined;
  return {
    spent,
    quota,
    budget: null,
    isRepeated: false,
    left: wantsLeft ? (charged.left?.[accountId] ?? 0) : null,
  };
}
