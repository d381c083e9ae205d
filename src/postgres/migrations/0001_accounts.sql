-- Plans, accounts, API keys, and the ledger of everything that changed an account.

CREATE TABLE plans (
  name text PRIMARY KEY,
  requests_per_minute integer NOT NULL,
  included_credits bigint NOT NULL,
  api_keys integer -- NULL: unlimited
);
INSERT INTO plans VALUES ('free', 20, 500, 2), ('plus', 60, 1250, NULL);

CREATE TYPE quota_period AS (
  plan text, -- the effective one: a lapsed Plus subscription is free
  starts_at timestamptz,
  ends_at timestamptz -- exclusive
);

-- The one place where periods are computed (specification, Credits 4; contract, choice 9).
-- Plus: calendar months counted from the anchor in UTC (31 January, 28 February, 31 March), cut short where the
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

CREATE TABLE accounts (
  id text PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  suspended_at timestamptz,
  plan text NOT NULL REFERENCES plans (name),
  plan_since timestamptz, -- a change to Free opens its first period here; NULL: at the start of the month
  plus_anchor timestamptz,
  plus_until timestamptz,
  requests_per_minute integer CHECK (requests_per_minute > 0), -- NULL: the plan's
  included_credits bigint CHECK (included_credits >= 0), -- NULL: the plan's
  -- The period that `used` counts, rolled over by the first admission after its end.
  period_plan text NOT NULL REFERENCES plans (name),
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
  credits bigint NOT NULL DEFAULT 0 CHECK (credits >= 0),
  CHECK (plan <> 'plus' OR plus_anchor IS NOT NULL)
) WITH (fillfactor = 50); -- room for the counters' next versions on the same page (HOT updates)

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  name text NOT NULL DEFAULT '',
  start text NOT NULL, -- the first characters of the secret, for recognition
  secret_sha256 bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz
);
CREATE INDEX api_keys_by_account ON api_keys (account_id);

-- Who changed what on an account, when and why. Credits spent are only counted (`used`, in balances since 0007); every
-- grant is a row here.
CREATE TABLE account_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  at timestamptz NOT NULL DEFAULT now(),
  kind text NOT NULL CHECK (kind IN
    ('created', 'plan', 'limits', 'credits', 'suspended', 'resumed', 'key-created', 'key-revoked')),
  actor text NOT NULL,
  credits bigint, -- granted (kind 'credits')
  balance bigint, -- purchased credits afterwards (kind 'credits')
  note text NOT NULL DEFAULT '',
  reference text,
  detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX account_events_by_account ON account_events (account_id, id);
CREATE UNIQUE INDEX account_events_reference ON account_events (account_id, reference) WHERE reference IS NOT NULL;
