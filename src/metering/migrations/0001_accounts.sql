-- Plans, accounts, API keys, credits, and what they count.
--
-- Ids that requests look up are compared byte by byte (COLLATE "C"): the database's collation takes several times as long, and
-- means nothing for them.

CREATE TABLE plans (
  name text PRIMARY KEY,
  requests_per_minute integer NOT NULL,
  included_credits bigint NOT NULL,
  api_keys integer NOT NULL -- that work at the same time; the specification calls 10,000 unlimited, and /usage does too
);
INSERT INTO plans VALUES ('free', 20, 500, 2), ('plus', 60, 1250, 10000);

CREATE TABLE accounts (
  id text PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  suspended_at timestamptz,
  deleted_at timestamptz, -- a deleted account is suspended, too, and keeps its rows of the ledger, without names
  requests_per_minute integer CHECK (requests_per_minute > 0) -- NULL: the plan's
);

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  name text NOT NULL DEFAULT '',
  start text NOT NULL, -- the first characters of the secret, for recognition
  secret_sha256 bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz,
  expires_at timestamptz, -- NULL: never
  ends_at timestamptz NOT NULL GENERATED ALWAYS AS (coalesce(least(revoked_at, expires_at), 'infinity')) STORED,
  rights text[], -- src/http/right.ts lists them; NULL: all
  -- A test key is known by its secret, so that no key can pass for the other kind. It takes no place of the plan.
  is_test boolean NOT NULL GENERATED ALWAYS AS (starts_with(start, 'svc_test_')) STORED,
  is_connection boolean NOT NULL DEFAULT false -- 0007_connections.sql has the rest of it; it takes no place of the plan
);
-- All reads of keys that work, or have ended: a key that has ended takes no place.
CREATE INDEX api_keys_by_end ON api_keys (account_id, ends_at) INCLUDE (is_test, is_connection);
-- How many keys an account has created in a day; its latest keys.
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at, id);
-- Keys that end soon, or have ended, of all accounts: their members get a mail.
CREATE INDEX api_keys_ending ON api_keys (ends_at) WHERE ends_at < 'infinity';

-- An earlier secret of a key, which a rotation has replaced, works until then. The current secret is in api_keys.
CREATE TABLE api_key_previous_secrets (
  secret_sha256 bytea PRIMARY KEY,
  key_id text NOT NULL REFERENCES api_keys (id),
  until timestamptz NOT NULL
);
CREATE INDEX api_key_previous_secrets_by_key ON api_key_previous_secrets (key_id);

-- When each secret was last used, to the minute (src/metering/keys/uses.ts). Apart from the keys, whose rows are locked by their changes.
CREATE TABLE api_key_uses (
  secret_sha256 bytea PRIMARY KEY,
  used_at timestamptz NOT NULL
) WITH (fillfactor = 50); -- room for the next versions on the same page (HOT updates)

-- Who changed what on an account, when and why. Credits spent are only counted (in balances); every grant is a row here.
CREATE TABLE account_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  at timestamptz NOT NULL DEFAULT now(),
  kind text NOT NULL, -- src/metering/accounts/events.ts lists them
  actor text NOT NULL,
  credits bigint, -- granted, or taken back if negative (kind 'credits')
  balance bigint, -- purchased credits afterwards (kind 'credits')
  note text NOT NULL DEFAULT '',
  reference text,
  detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX account_events_by_account ON account_events (account_id, id);
-- Grants of purchased credits.
CREATE INDEX account_events_grants ON account_events (account_id, id) WHERE kind = 'credits';
CREATE UNIQUE INDEX account_events_reference ON account_events (account_id, reference) WHERE reference IS NOT NULL;
-- How often a key was rotated in a day.
CREATE INDEX account_events_rotations ON account_events (account_id, (detail ->> 'key'), at) WHERE kind = 'key-rotated';
-- Sign-ins are removed by age (src/metering/account-data/metering-data.ts).
CREATE INDEX account_events_sign_ins ON account_events (at) WHERE kind = 'signed-in';

CREATE TYPE quota_period AS (
  plan text, -- the effective one: a lapsed Plus subscription is free
  starts_at timestamptz,
  ends_at timestamptz -- exclusive
);

-- The one place where periods are computed (specification, Credits 4; docs/api.md: credits).
-- Plus: calendar months counted from the anchor in UTC (31 January, 28 February, 31 March), cut short when the
-- subscription lapses. Free: the calendar month in UTC; the first one begins where the plan did.
CREATE FUNCTION account_period(plan text, since timestamptz, anchor timestamptz, until timestamptz, instant timestamptz)
RETURNS quota_period LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  utc_anchor timestamp := anchor AT TIME ZONE 'UTC';
  utc_instant timestamp := instant AT TIME ZONE 'UTC';
  months integer;
BEGIN
  IF plan = 'plus' AND (until IS NULL OR instant < until) THEN
    months := (extract(year FROM utc_instant) - extract(year FROM utc_anchor)) * 12
            + extract(month FROM utc_instant) - extract(month FROM utc_anchor);
    IF utc_anchor + months * interval '1 month' > utc_instant THEN
      months := months - 1;
    END IF;
    months := greatest(months, 0);
    RETURN ROW('plus',
      (utc_anchor + months * interval '1 month') AT TIME ZONE 'UTC',
      least((utc_anchor + (months + 1) * interval '1 month') AT TIME ZONE 'UTC', until))::quota_period;
  END IF;
  RETURN ROW('free',
    greatest(date_trunc('month', utc_instant) AT TIME ZONE 'UTC', CASE WHEN plan = 'plus' THEN until ELSE since END),
    (date_trunc('month', utc_instant) + interval '1 month') AT TIME ZONE 'UTC')::quota_period;
END $$;

-- The columns that a spent credit writes, in a table without foreign keys. For each row that an UPDATE changes, Postgres looks
-- through every foreign key to and from its table, and it reads every CHECK again for each statement. That was a quarter of a
-- credit's time. The row is made with its account, and no account is ever removed.
CREATE TABLE balances (
  account_id text COLLATE "C" PRIMARY KEY,
  plan text NOT NULL,
  plan_since timestamptz, -- a change to Free opens its first period here; NULL: at the start of the month
  plus_anchor timestamptz,
  plus_until timestamptz,
  included_credits bigint, -- NULL: the plan's
  -- The period that `used` counts, rolled over by the first charge after its end.
  period_plan text NOT NULL,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  -- By Postgres's clock, under the lock of the row. A call whose spent_at is later belongs to this period. `at` of a call and
  -- period_start don't decide that, because a subscription can be renewed from an instant that has passed, and a call can wait
  -- while its account's period changes.
  period_opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  used bigint NOT NULL DEFAULT 0,
  used_purchased bigint NOT NULL DEFAULT 0, -- among `used`: a refund brings these back first
  credits bigint NOT NULL DEFAULT 0, -- purchased
  -- Purchased credits that calls of earlier periods took. `credits + used_purchased + purchased_before` is what was granted, and
  -- what comes back to an earlier period comes from here.
  purchased_before bigint NOT NULL DEFAULT 0,
  spend_purchased boolean NOT NULL DEFAULT true, -- whether calls beyond the allowance are paid with purchased credits
  CHECK (used >= 0 AND credits >= 0 AND included_credits >= 0 AND (plan <> 'plus' OR plus_anchor IS NOT NULL))
) WITH (fillfactor = 50); -- room for the counters' next versions on the same page (HOT updates)

-- The one place where windows of budgets are computed (docs/members.md: limits of a key): a day or a month of UTC, or ever.
CREATE FUNCTION budget_window(per text, instant timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE per WHEN 'ever' THEN '-infinity' ELSE date_trunc(per, instant AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' END
$$;
CREATE FUNCTION budget_end(per text, window_start timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE per WHEN 'ever' THEN NULL
    ELSE (window_start AT TIME ZONE 'UTC' + ('1 ' || per)::interval) AT TIME ZONE 'UTC' END
$$;

-- A budget that is used up, and when it is available again (SpentBudget in src/metering/credits/call.ts).
CREATE FUNCTION spent_budget(credits bigint, per text, window_start timestamptz) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('credits', credits, 'per', per, 'resetAt', budget_end(per, window_start), 'retryAfterS',
    CASE WHEN per <> 'ever' THEN greatest(ceil(extract(epoch FROM budget_end(per, window_start) - now())), 1) END)
$$;

-- Budgets of keys. A row is locked only after the balance of its account, and rows in the order of their ids, because a change of a key
-- locks the key and then the account. It is made with its key, so that a charge or a refund that waits for the balance reads the latest
-- version of it, and never misses a first budget. No foreign key and no CHECK, as for balances.
CREATE TABLE key_budgets (
  key_id text COLLATE "C" PRIMARY KEY,
  credits bigint, -- NULL: no budget
  per text NOT NULL DEFAULT 'ever', -- day, month or ever
  -- The window that `used` counts. It only moves forward, by the first charge after its end. `at` of a call in it is not before it.
  window_start timestamptz NOT NULL DEFAULT '-infinity',
  used bigint NOT NULL DEFAULT 0,
  -- When `used` was counted from the calls of the window, by Postgres's clock under the balance's lock. Later calls add to it.
  counted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- After a first budget: when no call is under way any more that did not know it. Then `used` is counted once more.
  settles_at timestamptz
) WITH (fillfactor = 50); -- room for the counters' next versions on the same page (HOT updates)
CREATE INDEX key_budgets_settling ON key_budgets (settles_at) WHERE settles_at IS NOT NULL;

-- The quotas of accounts that a charge gave fewer credits than they need (src/metering/credits/charge-calls.ts), by account: the allowance, the
-- instant at which it is reset, and the whole seconds until then. It is a function, so that a charge that all accounts can pay does
-- not even prepare this query.
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

-- Ends the statement that charges a batch from allowances alone (src/metering/credits/charge-batch.ts), with a code that only it has. The whole
-- statement is rolled back, and the service charges the batch again with all the rules.
CREATE FUNCTION raise_allowance_short() RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'U0001', MESSAGE = 'an account of this batch cannot pay from its allowance',
    HINT = 'This is no fault: the service charges the batch by another statement.';
END $$;

-- Charged calls, a row for each statement that charged or refunded credits. If a connection is lost between a commit and its
-- answer, the calls are answered 503, and the process voids them by the id of the attempt (src/metering/credits/void.ts). A roll-up adds the
-- calls to daily_calls every few seconds, because counting them there at once took as long as spending them.
CREATE TABLE call_journal (
  attempt uuid PRIMARY KEY,
  at timestamptz NOT NULL, -- when the calls count at
  spent_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  counted boolean NOT NULL DEFAULT false, -- its calls are in daily_calls
  owed boolean NOT NULL DEFAULT false, -- its calls are to be refunded, or must never be charged
  account_ids text[] NOT NULL,
  key_ids text[] NOT NULL, -- '' for calls made in the dashboard
  kinds text[] NOT NULL,
  calls bigint[] NOT NULL, -- negative: refunded
  activity text, -- of each call a line that its activity tells (src/metering/credits/activity.ts); NULL: nothing of any
  purchased jsonb, -- purchased credits among those spent, by account; NULL: none
  budgets text[], -- keys whose budgets count their calls; NULL: none
  -- A request with an Idempotency-Key has one row for its charge, and an empty one for each of its sendings
  -- (src/metering/credits/once.ts). `charge` of a sending is the attempt of the charge. The other columns are the charge's:
  charge uuid,
  request uuid, -- made from the request; NULL once the request can be charged again
  sendings integer, -- that have not refunded credits
  charged bigint, -- credits that a sending can use
  kept bigint, -- the most credits that a sending kept when it refunded others
  short_of text -- 'account' or 'key': which had fewer credits than the request needs; NULL: none
) WITH (toast_tuple_target = 8160); -- rows live a few seconds: packing the larger ones takes longer than writing them
CREATE INDEX call_journal_counted ON call_journal (counted, spent_at);
CREATE INDEX call_journal_owed ON call_journal (attempt) WHERE owed AND account_ids <> '{}';
-- Of two sendings of a request one charges. Later sendings find its charge.
CREATE UNIQUE INDEX call_journal_request ON call_journal (request) WHERE request IS NOT NULL;

-- Ends a sending (src/metering/credits/once.ts): it keeps so many credits of its request's charge, and refunds the others. When every sending has
-- refunded some, those come back that all have refunded. If these are all credits, the request can be charged again. The sending names
-- its charge by an attempt that no other charge gets. Idempotent: the sending's row is marked, and a statement of the sending that
-- arrives later meets it.
CREATE FUNCTION refund_sending(sending uuid, keeps bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  paid uuid;
  back call_journal;
BEGIN
  INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, counted, owed)
  VALUES (sending, now(), '{}', '{}', '{}', '{}', true, true)
  ON CONFLICT (attempt) DO UPDATE SET owed = true WHERE NOT call_journal.owed
  RETURNING charge INTO paid;
  -- A statement of its own: the charge may have been committed while the first one waited for the sending's row.
  UPDATE call_journal SET sendings = sendings - 1, kept = greatest(kept, keeps),
    charged = CASE WHEN sendings > 1 THEN charged ELSE greatest(kept, keeps) END,
    request = CASE WHEN sendings > 1 OR greatest(kept, keeps) > 0 THEN request END
  WHERE attempt = paid
  RETURNING gen_random_uuid(), at, spent_at, true, true, account_ids, key_ids, kinds, ARRAY[old.charged - new.charged], activity,
    jsonb_build_object(account_ids[1], least(coalesce((purchased ->> account_ids[1])::bigint, 0), old.charged - new.charged)),
    budgets
  INTO back;
  IF back.calls[1] > 0 THEN
    INSERT INTO call_journal SELECT back.*;
  END IF;
END $$;

-- Charged calls a day, key and kind, for the dashboard. No foreign key: its check would wait for every transaction that locks the
-- account.
CREATE TABLE daily_calls (
  account_id text NOT NULL,
  day date NOT NULL, -- UTC
  key_id text NOT NULL, -- '' for calls made in the dashboard
  kind text NOT NULL, -- src/http/call-kind.ts lists them
  calls bigint NOT NULL,
  PRIMARY KEY (account_id, day, key_id, kind)
) WITH (fillfactor = 50);

-- Calls that were not rolled up yet.
CREATE VIEW journal_counts AS
SELECT entry.account_id, (journal.at AT TIME ZONE 'UTC')::date AS day, entry.key_id, entry.kind, entry.calls
FROM call_journal journal,
  unnest(account_ids, key_ids, kinds, journal.calls) AS entry (account_id, key_id, kind, calls)
WHERE NOT journal.counted;

-- Calls that were rolled up, and those that were not yet: several rows for a day, key and kind, in the order of an index.
CREATE VIEW call_counts AS
SELECT account_id, day, key_id, kind, calls FROM daily_calls
UNION ALL
SELECT account_id, day, key_id, kind, calls FROM journal_counts;

-- What the dashboard reads.
CREATE VIEW calls_by_day AS
SELECT account_id, day, key_id, kind, sum(calls)::bigint AS calls
FROM call_counts
GROUP BY account_id, day, key_id, kind
HAVING sum(calls) <> 0;

-- Error answers of the API by day, for the dashboard (src/metering/usage/error-answers.ts). Each process counts in memory, and adds its
-- counts here every few seconds. No foreign key, as for daily_calls.
CREATE TABLE daily_error_answers (
  account_id text COLLATE "C" NOT NULL,
  day date NOT NULL, -- UTC
  key_id text NOT NULL, -- '' for calls made in the dashboard; 'ended' for all keys that ended over 30 days ago
  kind text NOT NULL, -- as src/http/error-kind.ts has them
  calls bigint NOT NULL,
  credits bigint NOT NULL DEFAULT 0, -- that they cost
  PRIMARY KEY (account_id, day, key_id, kind)
) WITH (fillfactor = 50); -- room for the counters' next versions on the same page (HOT updates)
-- Rows end after 13 months (src/metering/account-data/metering-data.ts). Rows come in the order of days, and BRIN costs a write nothing.
CREATE INDEX daily_error_answers_by_day ON daily_error_answers USING brin (day);

-- The sums of daily_calls and daily_error_answers over the keys of an account, because pages show them and an account can have very
-- many keys. Triggers write them in the statement that writes the counts, so they are always equal.
CREATE TABLE daily_totals (
  account_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  kind text NOT NULL, -- those of calls, and those of error answers
  calls bigint NOT NULL,
  credits bigint NOT NULL, -- that errors cost
  PRIMARY KEY (account_id, day, kind)
) WITH (fillfactor = 50);

CREATE FUNCTION add_to_totals() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  cost text := CASE TG_TABLE_NAME WHEN 'daily_error_answers' THEN 'credits' ELSE '0' END;
BEGIN
  -- An upsert has two events, each with its own sums. Without turns two upserts could wait for each other.
  PERFORM pg_advisory_xact_lock(TG_RELID::bigint);
  EXECUTE format($sql$
    INSERT INTO daily_totals AS total (account_id, day, kind, calls, credits)
    SELECT account_id, day, kind, sum(calls), sum(credits) FROM (%s) AS changed (account_id, day, kind, calls, credits)
    GROUP BY 1, 2, 3 HAVING (sum(calls), sum(credits)) <> (0, 0) ORDER BY 1, 2, 3
    ON CONFLICT (account_id, day, kind) DO UPDATE
      SET calls = total.calls + excluded.calls, credits = total.credits + excluded.credits$sql$,
    concat_ws(' UNION ALL ',
      CASE WHEN TG_OP <> 'DELETE' THEN format('SELECT account_id, day, kind, calls, %s FROM added', cost) END,
      CASE WHEN TG_OP <> 'INSERT' THEN format('SELECT account_id, day, kind, -calls, -%s FROM removed', cost) END));
  IF TG_OP = 'DELETE' THEN
    DELETE FROM daily_totals
    WHERE calls = 0 AND (account_id, day, kind) IN (SELECT DISTINCT account_id COLLATE "C", day, kind FROM removed);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER calls_added AFTER INSERT ON daily_calls
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_to_totals();
CREATE TRIGGER calls_changed AFTER UPDATE ON daily_calls
REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION add_to_totals();
CREATE TRIGGER calls_removed AFTER DELETE ON daily_calls
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION add_to_totals();
CREATE TRIGGER errors_added AFTER INSERT ON daily_error_answers
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_to_totals();
CREATE TRIGGER errors_changed AFTER UPDATE ON daily_error_answers
REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION add_to_totals();
CREATE TRIGGER errors_removed AFTER DELETE ON daily_error_answers
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION add_to_totals();

-- Calls and error answers of an account by day, those that were not rolled up yet, too: several rows for a day and kind.
CREATE VIEW account_counts AS
SELECT account_id, day, kind, calls, credits FROM daily_totals
UNION ALL
SELECT account_id, day, kind, calls, 0 FROM journal_counts;
