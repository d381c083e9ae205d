-- The quotas of accounts that a charge gave fewer credits than they need (src/credits/spend.ts), by account: the allowance, the
-- instant at which it is reset, and the whole seconds until then. A function, because a charge that everybody can pay should not
-- set this query up.
CREATE FUNCTION short_quotas(ids text[], needed bigint[], spent bigint[]) RETURNS json STABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT json_object_agg(account_id, json_build_object(
      'limit', coalesce(b.included_credits, plans.included_credits), 'resetAt', (period).ends_at,
      'retryAfterS', greatest(ceil(extract(epoch FROM (period).ends_at - now())), 1)))
    FROM balances b
      CROSS JOIN LATERAL (SELECT CASE WHEN now() < b.period_end
        THEN ROW(b.period_plan, b.period_start, b.period_end)::quota_period
        ELSE account_period(b.plan, b.plan_since, b.plus_anchor, b.plus_until, now()) END AS period OFFSET 0) AS current
      JOIN plans ON plans.name = (period).plan
    WHERE account_id IN (
      SELECT call.id FROM unnest(ids, needed, spent) AS call (id, needed, spent) WHERE call.spent < call.needed));
END $$;

-- Purchased credits that calls of earlier periods took. `credits + used_purchased + purchased_before` is what was granted, and
-- what comes back to an earlier period comes from here.
ALTER TABLE balances ADD COLUMN purchased_before bigint NOT NULL DEFAULT 0;

-- The roll-up adds counts also while a transaction has locked the account: the check of this key would wait for it. No account
-- is ever removed.
ALTER TABLE daily_calls DROP CONSTRAINT daily_calls_account_id_fkey;
