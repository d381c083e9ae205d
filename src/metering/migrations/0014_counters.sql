-- One table of counters, in the place of balances and key_budgets: a counter is a bounded count in a window.
--
-- A release before 0.2.0 goes on beside it: the old names are views that it reads and writes. A statement of it that is under way is
-- waited for, and one that comes meanwhile waits, and then finds the views. They go with 0.3.0.
LOCK TABLE balances, key_budgets IN ACCESS EXCLUSIVE MODE;

-- The columns that a charge writes. A row is made with its account or its key, and never removed, so a statement that waits for a row
-- reads the latest version of it, and never misses a first budget. For each row that an UPDATE changes, Postgres looks through every
-- foreign key to and from its table: that was a quarter of a credit's time, so there is none.
--
-- All that lock counters do it in the order of this key: an account before its keys, because acc_… comes before key_….
CREATE TABLE counters (
  id text COLLATE "C" PRIMARY KEY, -- of an account, or of a key
  per text, -- the windows of a key's budget: day, month or ever; NULL: an account, whose windows are the periods of its plan
  plan text,
  plan_since timestamptz, -- a change to Free opens its first period here; NULL: at the start of the month
  plus_anchor timestamptz,
  plus_until timestamptz,
  -- What a window includes: an account's own allowance, NULL for the plan's; a key's budget, NULL for none.
  included_credits bigint,
  -- The window that `used` counts, opened by the first charge after the end of the one before.
  period_plan text,
  period_start timestamptz NOT NULL DEFAULT '-infinity',
  period_end timestamptz, -- of an account; window_end has that of both
  -- By Postgres's clock, under the lock of the row. Of an account: a call whose spent_at is later belongs to this window. `at` of a call
  -- and period_start don't decide that, because a subscription can be renewed from an instant that has passed. Of a key: when `used` was
  -- counted from the calls of the window; later calls add to it.
  period_opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  used bigint NOT NULL DEFAULT 0,
  used_purchased bigint NOT NULL DEFAULT 0, -- among `used`: a refund brings these back first
  credits bigint NOT NULL DEFAULT 0, -- purchased
  -- Purchased credits that calls of earlier windows took. `credits + used_purchased + purchased_before` is what was granted, and
  -- what comes back to an earlier window comes from here.
  purchased_before bigint NOT NULL DEFAULT 0,
  spend_purchased boolean NOT NULL DEFAULT true, -- whether calls beyond the allowance are paid with purchased credits
  -- After a first budget: when no call is under way any more that did not know it. Then `used` is counted once more.
  settles_at timestamptz,
  CHECK (used >= 0 AND credits >= 0 AND included_credits >= 0 AND (plan <> 'plus' OR plus_anchor IS NOT NULL))
) WITH (fillfactor = 50); -- room for the counters' next versions on the same page (HOT updates)

INSERT INTO counters (id, plan, plan_since, plus_anchor, plus_until, included_credits, period_plan, period_start, period_end,
  period_opened_at, used, used_purchased, credits, purchased_before, spend_purchased)
SELECT account_id, plan, plan_since, plus_anchor, plus_until, included_credits, period_plan, period_start, period_end,
  period_opened_at, used, used_purchased, credits, purchased_before, spend_purchased
FROM balances ORDER BY account_id;
INSERT INTO counters (id, per, included_credits, period_start, period_opened_at, used, settles_at)
SELECT key_id, per, credits, window_start, counted_at, used, settles_at FROM key_budgets ORDER BY key_id;
CREATE INDEX counters_settling ON counters (settles_at) WHERE settles_at IS NOT NULL;

DROP TABLE balances, key_budgets;
CREATE VIEW balances AS
SELECT id AS account_id, plan, plan_since, plus_anchor, plus_until, included_credits, period_plan, period_start, period_end,
  period_opened_at, used, used_purchased, credits, purchased_before, spend_purchased
FROM counters WHERE per IS NULL;
CREATE VIEW key_budgets AS
SELECT id AS key_id, included_credits AS credits, per, period_start AS window_start, used, period_opened_at AS counted_at, settles_at
FROM counters WHERE per IS NOT NULL;

-- The end of a counter's window. A generated column would cost each charge a sixth of its time. As its body is not immutable, Postgres
-- plans budget_end as a part of the statement only if it does not say so.
ALTER FUNCTION budget_end(text, timestamptz) STABLE;
CREATE FUNCTION window_end(counter counters) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT coalesce(counter.period_end, budget_end(counter.per, counter.period_start), 'infinity')
$$;

-- The counter in the window of an instant. This is the one place where a window is opened, except by a change of the plan.
CREATE FUNCTION counter_at(counter counters, instant timestamptz) RETURNS counters STABLE LANGUAGE plpgsql AS $$
DECLARE
  period quota_period;
BEGIN
  IF instant >= window_end(counter) THEN
    IF counter.per IS NULL THEN
      period := account_period(counter.plan, counter.plan_since, counter.plus_anchor, counter.plus_until, instant);
      counter.period_opened_at := clock_timestamp();
    ELSE
      period := (NULL, budget_window(counter.per, instant), NULL);
    END IF;
    counter.period_plan := period.plan;
    counter.period_start := period.starts_at;
    counter.period_end := period.ends_at;
    counter.purchased_before := counter.purchased_before + counter.used_purchased;
    counter.used_purchased := 0;
    counter.used := 0;
  END IF;
  RETURN counter;
END $$;

-- What a window of a counter includes; a key without a budget has no bound.
CREATE FUNCTION included_of(counter counters) RETURNS bigint STABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN coalesce(counter.included_credits,
    (SELECT included_credits FROM plans WHERE name = counter.period_plan), 9007199254740991);
END $$;

-- Why a counter refuses: a Quota or a SpentBudget (src/metering/credits/call.ts).
CREATE FUNCTION refusal_of(counter counters) RETURNS json STABLE LANGUAGE plpgsql AS $$
BEGIN
  IF counter.per IS NOT NULL THEN
    RETURN spent_budget(counter.included_credits, counter.per, counter.period_start);
  END IF;
  RETURN json_build_object('limit', included_of(counter), 'resetAt', counter.period_end,
    'retryAfterS', greatest(ceil(extract(epoch FROM counter.period_end - now())), 1));
END $$;

-- Ends the statement that charges a batch as a whole (src/metering/credits/charge-batch.ts), with a code that only it has. The statement is
-- rolled back, and the service charges the batch in turn.
CREATE OR REPLACE FUNCTION raise_allowance_short() RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'U0001', MESSAGE = 'a counter of this batch cannot pay all, or its window has ended',
    HINT = 'This is no fault: the service charges the batch by another statement.';
END $$;

-- Charges calls one after another: each gets what it needs, as far as its account and its key have that left. Of two equal bounds the
-- account's is the reason. Each statement here sees what was committed before it. Windows of keys are told by an instant behind all locks,
-- so that a window that another process has opened meanwhile is no key's alone.
--
-- `spent` and `short`, the counter that had too little ('': none), are by call, and the others by counter. An account that is gone has no reason.
CREATE FUNCTION charge_in_turn(attempt uuid, account_ids text[], key_ids text[], kinds text[], needed bigint[], limited text[],
  activity text, OUT spent bigint[], OUT short text[], OUT purchased jsonb, OUT "left" jsonb, OUT reasons jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  ids text[];
  budgets text[];
  had bigint[];
  has bigint[];
  instant timestamptz;
  of_account integer;
  of_key integer;
BEGIN
  PERFORM FROM counters WHERE id = ANY (account_ids || limited) ORDER BY id FOR NO KEY UPDATE;
  instant := CASE WHEN limited = '{}' THEN now() ELSE clock_timestamp() END;
  UPDATE counters c SET (period_plan, period_start, period_end, period_opened_at, purchased_before, used_purchased, used) = (
    SELECT period_plan, period_start, period_end, period_opened_at, purchased_before, used_purchased, used FROM counter_at(c, instant))
  WHERE id = ANY (account_ids || limited) AND instant >= window_end(c);

  -- A call is never counted before the window of its key, also if the clock went back.
  SELECT array_agg(id), array_agg(greatest(included_of(c) - used, 0) + CASE WHEN spend_purchased THEN credits ELSE 0 END),
    greatest(instant, max(period_start) FILTER (WHERE per IS NOT NULL)), array_agg(id) FILTER (WHERE per IS NOT NULL)
  INTO ids, had, instant, budgets FROM counters c WHERE id = ANY (account_ids || limited);
  has := had;
  short := array_fill(''::text, ARRAY[cardinality(needed)]);
  FOR nth IN 1 .. cardinality(needed) LOOP
    of_account := array_position(ids, account_ids[nth]);
    of_key := array_position(ids, key_ids[nth]);
    spent[nth] := least(needed[nth], coalesce(has[of_account], 0), has[of_key]);
    IF spent[nth] < needed[nth] THEN
      short[nth] := CASE WHEN has[of_key] < has[of_account] THEN key_ids[nth] ELSE account_ids[nth] END;
    END IF;
    IF spent[nth] > 0 THEN
      has[of_account] := has[of_account] - spent[nth];
      IF of_key IS NOT NULL THEN
        has[of_key] := has[of_key] - spent[nth];
      END IF;
    END IF;
  END LOOP;

  WITH debited AS (
    UPDATE counters c SET (used, credits, used_purchased) = (
      SELECT used + paid, credits - taken, used_purchased + taken
      FROM (SELECT greatest(paid - greatest(included_of(c) - used, 0), 0) AS taken OFFSET 0) AS purchase)
    FROM unnest(ids, had, has) AS counter (counter_id, had, has) CROSS JOIN LATERAL (SELECT counter.had - counter.has AS paid) AS payment
    WHERE id = counter_id AND paid > 0
    RETURNING id, old.credits - new.credits AS taken)
  SELECT jsonb_object_agg(id, taken) FILTER (WHERE taken > 0) INTO purchased FROM debited;
  IF had <> has THEN
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, activity, purchased, budgets)
    VALUES (attempt, instant, account_ids, key_ids, kinds, spent, activity, purchased, budgets);
  END IF;
  SELECT jsonb_object_agg(id, credits) INTO "left" FROM unnest(ids, has) AS counter (id, credits);
  SELECT jsonb_object_agg(id, refusal_of(c)) INTO reasons FROM counters c WHERE id = ANY (short);
END $$;
