/** The SQL of a charge with all the rules (charge-calls.ts). */
import { periodAt } from '../accounts/plan.ts';
import { spentOfBudget } from '../keys/limits.ts';

/** SQL: the allowance of a balances row, its own or its plan's. */
export const includedCredits = (plan: string, row = 'b') => `
  coalesce(${row}.included_credits, CASE ${plan}
    WHEN 'plus' THEN (SELECT included_credits FROM plans WHERE name = 'plus')
    ELSE (SELECT included_credits FROM plans WHERE name = 'free') END)`;

/** SQL: the credits that each account of a batch needs, in the order in which a charge locks the accounts. */
export const CREDITS_BY_ACCOUNT = `
  SELECT id, sum(needed)::bigint AS credits FROM unnest($2::text[], $5::bigint[]) AS call (id, needed) GROUP BY id ORDER BY id`;

/**
 * SQL: takes from each account what it is `wanted` to pay, as far as its credits suffice.
 *
 * The `SET` runs in steps: the period, the counters before the charge, included credits left, credits to charge, the purchased
 * ones among them. `OFFSET 0` keeps the planner from repeating a step wherever its value is used.
 */
const debit = (wanted: string, wantsLeft: string) => `
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
  FROM (${wanted}) AS wanted
  WHERE b.account_id = wanted.id AND (now() >= b.period_end
    OR b.used < ${includedCredits('b.period_plan')} OR (b.credits > 0 AND b.spend_purchased))
  RETURNING b.account_id AS id, old.credits - new.credits AS purchased,
    new.used - CASE WHEN new.period_opened_at = old.period_opened_at THEN old.used ELSE 0 END AS credits,
    CASE WHEN ${wantsLeft} THEN greatest(${includedCredits('new.period_plan', 'new')} - new.used, 0)
      + CASE WHEN new.spend_purchased THEN new.credits ELSE 0 END END AS "left"`;

interface Rules {
  /** The charge as common table expressions; the last one, `outcome`, is a row with its sums. */
  charged: string;
  /** Columns of the journal's row, and their values. */
  at: string;
  columns: string;
  values: string;
  /** Columns of the statement's answer. */
  quotas: string;
  further: string;
}

/** SQL: the charge of calls without budgets. */
const WITHOUT_BUDGETS: Rules = {
  charged: `charged AS (${debit(CREDITS_BY_ACCOUNT, '$6::boolean')}
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
  )`,
  at: 'now()',
  columns: '',
  values: '',
  quotas: 'short_quotas($2::text[], $5::bigint[], spent)',
  further: '',
};

/**
 * SQL: the same for calls of keys with budgets. What a key can pay is read under the lock of its budget, before its account is debited.
 * Balances are locked first, then budgets, each in the order of ids, because changes of a key lock the key and then the account.
 *
 * A call gets what it needs, as far as its key and its account have that left after the earlier calls of the batch. `key_left` is NULL
 * for a key without a budget. A budget is filtered after its lock, because the version before the lock may have had none. Windows
 * are told by one instant behind all locks, so that a window that another process has opened meanwhile is no key's alone. The
 * lower bound is the reason why a call got less; of two equal ones it is the account's.
 * @param keys the parameter with the ids of the keys that may have one
 */
const withBudgets = (keys: string): Rules => ({
  charged: `locked AS MATERIALIZED (
    SELECT account_id FROM balances WHERE account_id = ANY ($2::text[]) ORDER BY account_id FOR NO KEY UPDATE
  ), latest AS MATERIALIZED (
    SELECT * FROM key_budgets WHERE key_id = ANY (${keys}::text[]) AND (SELECT count(*) FROM locked) > 0
    ORDER BY key_id FOR NO KEY UPDATE
  ), time AS MATERIALIZED (
    SELECT clock_timestamp() AS instant FROM (SELECT count(*) FROM latest) AS behind_the_locks
  ), budget AS MATERIALIZED (
    SELECT key_id, credits, per, greatest(window_start, budget_window(per, instant)) AS window_start,
      ${spentOfBudget('instant')} AS used
    FROM latest, time WHERE credits IS NOT NULL
  ), call AS MATERIALIZED (
    SELECT id, key_id, needed, position, CASE WHEN budget.key_id IS NOT NULL
      THEN greatest(credits - used - sum(needed) OVER (PARTITION BY key_id ORDER BY position) + needed, 0)::bigint END AS key_left
    FROM unnest($2::text[], $3::text[], $5::bigint[]) WITH ORDINALITY AS asked (id, key_id, needed, position)
      LEFT JOIN budget USING (key_id)
  ), charged AS (${debit(
    'SELECT id, sum(least(needed, key_left))::bigint AS credits FROM call GROUP BY id ORDER BY id',
    'true',
  )}
  ), paid AS MATERIALIZED (
    SELECT key_id, needed, position, greatest(least(needed, key_left, account_left), 0)::bigint AS spent,
      coalesce(key_left < least(needed, account_left), false) AS is_of_key
    FROM (
      SELECT call.*, coalesce("left" + credits, 0) + least(needed, key_left)
        - sum(least(needed, key_left)) OVER (PARTITION BY id ORDER BY position) AS account_left
      FROM call LEFT JOIN charged USING (id)) AS call
  ), counted AS (
    UPDATE key_budgets k SET window_start = budget.window_start, used = budget.used + spent
    FROM budget JOIN (SELECT key_id, sum(spent)::bigint AS spent FROM paid GROUP BY key_id) AS of_key USING (key_id)
    WHERE k.key_id = budget.key_id AND spent > 0
  ), outcome AS MATERIALIZED (
    SELECT sum(spent) AS credits,
      (SELECT jsonb_object_agg(id, purchased) FILTER (WHERE purchased > 0) FROM charged) AS purchased,
      (SELECT jsonb_object_agg(id, "left") FROM charged) AS "left",
      CASE WHEN sum(spent) < sum(needed) THEN array_agg(spent ORDER BY position) END AS spent,
      array_agg(is_of_key ORDER BY position) AS of_key,
      array_agg(CASE WHEN is_of_key THEN needed ELSE spent END ORDER BY position) AS spent_but_for_budgets
    FROM paid
  )`,
  // The instant that told the window of each key. A call is never counted before its window, also if the clock went back.
  at: 'greatest((SELECT instant FROM time), (SELECT max(window_start) FROM budget))',
  columns: ', budgets',
  values: ', (SELECT array_agg(key_id) FROM budget)',
  quotas: 'short_quotas($2::text[], $5::bigint[], spent_but_for_budgets)',
  further: `, of_key AS "ofKey",
    (SELECT jsonb_object_agg(key_id, spent_budget(credits, per, window_start)) FROM budget) AS budgets,
    (SELECT jsonb_object_agg(key_id, greatest(credits - used - coalesce(
      (SELECT sum(spent) FROM paid WHERE paid.key_id = budget.key_id), 0), 0)) FROM budget) AS "budgetsLeft"`,
});

function statement({ charged, at, columns, values, quotas, further }: Rules): string {
  return `
  WITH ${charged}, journal AS (
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, activity, purchased ${columns})
    SELECT $1::uuid, ${at}, $2::text[], $3::text[], $4::text[], coalesce(spent, $5::bigint[]), $7::text, purchased ${values}
    FROM outcome WHERE credits > 0
  )
  SELECT spent, purchased, CASE WHEN spent IS NOT NULL THEN ${quotas} END AS quotas, "left" ${further}
  FROM outcome`;
}

/** By whether a key of the batch may have a budget. */
export const CHARGES = { calls: statement(WITHOUT_BUDGETS), callsWithBudgets: statement(withBudgets('$8')) };
