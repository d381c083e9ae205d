-- What a spent credit writes, apart from everything that refers to an account: of each row that an UPDATE changes,
-- Postgres looks through every foreign key to and from its table, and it reads every CHECK anew for each statement. That
-- was a quarter of a credit's time. For the same reason there is no foreign key here: the row is made with its account,
-- and no account is ever removed.
-- No version was released before this one: none has to go on with the columns that are dropped.
CREATE TABLE balances (
  account_id text PRIMARY KEY,
  plan text NOT NULL,
  plan_since timestamptz, -- a change to Free opens its first period here; NULL: at the start of the month
  plus_anchor timestamptz,
  plus_until timestamptz,
  included_credits bigint, -- NULL: the plan's
  -- The period that `used` counts, rolled over by the first admission after its end.
  period_plan text NOT NULL,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  used bigint NOT NULL DEFAULT 0,
  credits bigint NOT NULL DEFAULT 0, -- purchased
  CHECK (used >= 0 AND credits >= 0 AND included_credits >= 0 AND (plan <> 'plus' OR plus_anchor IS NOT NULL))
) WITH (fillfactor = 50); -- room for the counters' next versions on the same page (HOT updates)

-- A credit that an older process spends meanwhile waits, and is not left behind.
LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE;
INSERT INTO balances
SELECT id, plan, plan_since, plus_anchor, plus_until, included_credits, period_plan, period_start, period_end, used,
  credits
FROM accounts;

ALTER TABLE accounts
  DROP COLUMN plan, DROP COLUMN plan_since, DROP COLUMN plus_anchor, DROP COLUMN plus_until,
  DROP COLUMN included_credits, DROP COLUMN period_plan, DROP COLUMN period_start, DROP COLUMN period_end,
  DROP COLUMN used, DROP COLUMN credits;

-- Admitted calls that daily_calls doesn't count yet, a row for each statement that spent credits. Counting them in
-- daily_calls at once took as long as spending them. src/credits/journal.ts moves them there every few seconds.
CREATE TABLE call_journal (
  day date NOT NULL, -- UTC
  account_ids text[] NOT NULL,
  key_ids text[] NOT NULL, -- '' for calls made in the dashboard
  kinds text[] NOT NULL,
  calls bigint[] NOT NULL -- negative: given back
);

-- Where calls are read from: what was moved, and what was not yet.
CREATE VIEW calls_by_day AS
SELECT account_id, day, key_id, kind, sum(calls)::bigint AS calls
FROM (
  SELECT account_id, day, key_id, kind, calls FROM daily_calls
  UNION ALL
  SELECT entry.account_id, journal.day, entry.key_id, entry.kind, entry.calls
  FROM call_journal journal,
    unnest(account_ids, key_ids, kinds, journal.calls) AS entry (account_id, key_id, kind, calls)
) AS counted
GROUP BY account_id, day, key_id, kind
HAVING sum(calls) <> 0;
