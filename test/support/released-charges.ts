/** Included credits of a balance, by the plan of its period. */
const included = (row: 'b' | 'new', plan = `${row}.period_plan`) => `
  coalesce(${row}.included_credits, CASE ${plan}
    WHEN 'plus' THEN (SELECT included_credits FROM plans WHERE name = 'plus')
    ELSE (SELECT included_credits FROM plans WHERE name = 'free') END)`;

const WANTED = `(
  SELECT id, sum(needed)::bigint AS credits FROM unnest($2::text[], $5::bigint[]) AS call (id, needed) GROUP BY id ORDER BY id) AS wanted`;

/** The charge of balances with all the rules. @param wanted SQL for the credits of each account */
const charged = (
  wanted: string,
  wantsLeft: string,
) => `  UPDATE balances b SET (used, used_purchased, purchased_before, credits,
    period_plan, period_start, period_end, period_opened_at) = (
    SELECT used_so_far + paid, purchased_so_far + purchased,
      b.purchased_before + b.used_purchased - purchased_so_far, b.credits - purchased,
      (period).plan, (period).starts_at, (period).ends_at,
      CASE WHEN has_ended THEN clock_timestamp() ELSE b.period_opened_at END
    FROM (SELECT now() >= b.period_end AS has_ended, 
  CASE WHEN now() < b.period_end THEN ROW(b.period_plan, b.period_start, b.period_end)::quota_period
    ELSE account_period(b.plan, b.plan_since, b.plus_anchor, b.plus_until, now()) END AS period OFFSET 0) AS current,
      LATERAL (SELECT CASE WHEN has_ended THEN 0 ELSE b.used END AS used_so_far,
        CASE WHEN has_ended THEN 0 ELSE b.used_purchased END AS purchased_so_far) AS counters,
      LATERAL (SELECT greatest(${included('b', '(period).plan')} - used_so_far, 0) AS included_left OFFSET 0) AS allowance,
      LATERAL (SELECT least(wanted.credits,
        included_left + CASE WHEN b.spend_purchased THEN b.credits ELSE 0 END) AS paid OFFSET 0) AS payment,
      LATERAL (SELECT greatest(paid - included_left, 0) AS purchased) AS purchase
  )
  FROM ${wanted}
  WHERE b.account_id = wanted.id AND (now() >= b.period_end
    OR b.used < ${included('b')} OR (b.credits > 0 AND b.spend_purchased))
  RETURNING b.account_id AS id, old.credits - new.credits AS purchased,
    new.used - CASE WHEN new.period_opened_at = old.period_opened_at THEN old.used ELSE 0 END AS credits,
    CASE WHEN ${wantsLeft} THEN greatest(${included('new')} - new.used, 0)
      + CASE WHEN new.spend_purchased THEN new.credits ELSE 0 END END AS "left"`;

/** The SQL by which a process of 0.1.0 charges a batch: short, with all the rules, and with budgets of keys. */
export const RELEASED_CHARGES = {
  chargeAllowances: `
  WITH charged AS (
    UPDATE balances b SET used = b.used + wanted.credits
    FROM ${WANTED}
    WHERE b.account_id = wanted.id AND now() < b.period_end AND b.used + wanted.credits <= ${included('b')}
    RETURNING 1
  )
  INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, activity)
  SELECT $1::uuid, now(), $2::text[], $3::text[], $4::text[],
    CASE WHEN count(*) = $6::integer THEN $5::bigint[] ELSE raise_allowance_short() END, $7::text
  FROM charged
  RETURNING true`,
  chargeCalls: `
  WITH charged AS (
${charged(WANTED, '$6::boolean')}
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
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, activity, purchased  )
    SELECT $1::uuid, now(), $2::text[], $3::text[], $4::text[], coalesce(spent, $5::bigint[]), $7::text, purchased  
    FROM outcome WHERE credits > 0
  )
  SELECT spent, purchased, CASE WHEN spent IS NOT NULL THEN short_quotas($2::text[], $5::bigint[], spent) END AS quotas, "left" 
  FROM outcome`,
  chargeWithBudgets: `
  WITH locked AS MATERIALIZED (
    SELECT account_id FROM balances WHERE account_id = ANY ($2::text[]) ORDER BY account_id FOR NO KEY UPDATE
  ), budget AS MATERIALIZED (
    SELECT key_id, credits, per, greatest(window_start, budget_window(per, now())) AS window_start,
      CASE WHEN budget_window(per, now()) > window_start THEN 0 ELSE used END AS used
    FROM (
      SELECT * FROM key_budgets WHERE key_id = ANY ($8::text[]) AND (SELECT count(*) FROM locked) > 0
      ORDER BY key_id FOR NO KEY UPDATE OFFSET 0) AS latest
    WHERE credits IS NOT NULL
  ), call AS MATERIALIZED (
    SELECT id, key_id, needed, position, CASE WHEN budget.key_id IS NOT NULL
      THEN greatest(credits - used - sum(needed) OVER (PARTITION BY key_id ORDER BY position) + needed, 0)::bigint END AS key_left
    FROM unnest($2::text[], $3::text[], $5::bigint[]) WITH ORDINALITY AS asked (id, key_id, needed, position)
      LEFT JOIN budget USING (key_id)
  ), charged AS (
${charged('(SELECT id, sum(least(needed, key_left))::bigint AS credits FROM call GROUP BY id ORDER BY id) AS wanted', 'true')}
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
  ), journal AS (
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, activity, purchased , budgets )
    SELECT $1::uuid, greatest(now(), (SELECT max(window_start) FROM budget)), $2::text[], $3::text[], $4::text[], coalesce(spent, $5::bigint[]), $7::text, purchased , (SELECT array_agg(key_id) FROM budget) 
    FROM outcome WHERE credits > 0
  )
  SELECT spent, purchased, CASE WHEN spent IS NOT NULL THEN short_quotas($2::text[], $5::bigint[], spent_but_for_budgets) END AS quotas, "left" , of_key AS "ofKey",
    (SELECT jsonb_object_agg(key_id, spent_budget(credits, per, window_start)) FROM budget) AS budgets,
    (SELECT jsonb_object_agg(key_id, greatest(credits - used - coalesce(
      (SELECT sum(spent) FROM paid WHERE paid.key_id = budget.key_id), 0), 0)) FROM budget) AS "budgetsLeft"
  FROM outcome`,
};
