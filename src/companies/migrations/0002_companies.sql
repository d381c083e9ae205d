-- Company records as the sources gave them, their refreshes, and the directory that searches go to.

CREATE TABLE companies (
  nif text COLLATE "C" PRIMARY KEY CHECK (nif ~ '^[0-9]{9}$'),
  details json NOT NULL, -- as they are answered, in one text: a column each was taken apart and put together for every lookup
  source text NOT NULL,
  fetched_at timestamptz NOT NULL
);

-- One refresh at a time for a NIF over all instances. Lookups that wait for it read its outcome here. A row outlives
-- its refresh by a minute.
CREATE TABLE company_refreshes (
  nif text PRIMARY KEY,
  attempt uuid NOT NULL,
  expires_at timestamptz NOT NULL, -- an attempt whose process died is given up then
  outcome text CHECK (outcome IN ('found', 'not-found', 'failed')) -- NULL: still under way
);

-- Refreshes of company records, counted for each account and for all together: one row each, because earlier days count for nothing.
CREATE TABLE account_refreshes (
  account_id text PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  day date NOT NULL, -- UTC
  refreshes integer NOT NULL,
  last_minute timestamptz[] NOT NULL DEFAULT '{}' -- those of the last minute, oldest first; '{}': not bounded
);
CREATE TABLE day_refreshes (
  day date NOT NULL,
  refreshes integer NOT NULL,
  free_refreshes integer NOT NULL -- those of Free accounts among them
);
CREATE UNIQUE INDEX day_refreshes_single_row ON day_refreshes ((true));
INSERT INTO day_refreshes VALUES ('epoch', 0, 0);

-- Takes one refresh from every budget, or from none. A budget of NULL has no bound.
-- `refused` is the budget that is used up (NULL: taken), and `room_at` the instant at which it has room again. `today` is what all
-- accounts have taken today.
CREATE FUNCTION take_refresh(
  account text, account_day bigint, account_minute bigint, all_day bigint, free_day bigint, is_free boolean,
  OUT refused text, OUT room_at timestamptz, OUT today integer
) LANGUAGE plpgsql AS $$
DECLARE
  mine account_refreshes;
  total day_refreshes;
  instant timestamptz;
  utc_day date;
BEGIN
  -- Accounts would wait for each other's flush, and a crash may lose the last few of a count.
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO account_refreshes (account_id, day, refreshes) VALUES (account, (now() AT TIME ZONE 'UTC')::date, 0)
  ON CONFLICT DO NOTHING;
  -- The account's row first: it may be locked for long, and every account needs the other one.
  SELECT * INTO mine FROM account_refreshes WHERE account_id = account FOR UPDATE;
  SELECT * INTO total FROM day_refreshes FOR UPDATE;
  -- By the clock behind the locks, so that no day comes back.
  instant := clock_timestamp();
  utc_day := (instant AT TIME ZONE 'UTC')::date;
  IF mine.day < utc_day THEN
    mine.refreshes := 0;
  END IF;
  IF total.day < utc_day THEN
    total := (utc_day, 0, 0);
  END IF;
  mine.last_minute := ARRAY(SELECT t FROM unnest(mine.last_minute) AS t WHERE t > instant - interval '1 minute' ORDER BY t);
  refused := CASE
    WHEN mine.refreshes >= account_day THEN 'account-day'
    WHEN cardinality(mine.last_minute) >= account_minute THEN 'account-minute'
    WHEN total.refreshes >= all_day THEN 'all-day'
    WHEN total.free_refreshes >= free_day THEN 'free-day' END;
  today := total.refreshes;
  IF refused = 'account-minute' THEN
    room_at := mine.last_minute[1] + interval '1 minute';
  ELSIF refused IS NOT NULL THEN
    room_at := (utc_day + 1)::timestamp AT TIME ZONE 'UTC';
  ELSE
    today := today + 1;
    UPDATE account_refreshes SET day = utc_day, refreshes = mine.refreshes + 1,
      last_minute = CASE WHEN account_minute IS NULL THEN '{}' ELSE mine.last_minute || instant END
    WHERE account_id = account;
    UPDATE day_refreshes SET day = utc_day, refreshes = today,
      free_refreshes = total.free_refreshes + is_free::integer;
  END IF;
END $$;

-- Every import builds a whole new table, a generation, and makes it the current one. A statement that reads the directory names
-- its generation's table, and checks that it is current.

CREATE SEQUENCE directory_generation_ids START 2;

CREATE TABLE directory_generations (
  id integer PRIMARY KEY,
  table_name text NOT NULL, -- a rebuild can give a table another index: two generations then share it for a moment
  index_name text UNIQUE, -- the complete and checked Elasticsearch index of these rows; NULL: none
  index_fingerprint text, -- what the index was built by (mapping and normalization)
  rows bigint NOT NULL,
  normalization text, -- what computed normalized_name and sort_key; NULL: no rows, so nothing did
  origin text NOT NULL CHECK (origin IN ('empty', 'import', 'rebuild')),
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  retired_at timestamptz, -- when it stopped being current; NULL: it hasn't been, or is
  -- When its rows were loaded, by whom, and from what file. A rebuild carries these on to its own generation.
  loaded_at timestamptz,
  loaded_by text,
  loaded_file text -- its name without folders; '-': standard input; NULL: not known
);

CREATE TABLE directory (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  id uuid NOT NULL DEFAULT gen_random_uuid(), -- part of what tells its indices from others' (generations.ts)
  current integer NOT NULL REFERENCES directory_generations (id),
  previous integer REFERENCES directory_generations (id), -- what `index rollback` returns to
  -- The process that changes the directory now, for the message to a second one. The advisory lock decides.
  lock_backend integer,
  lock_holder text,
  lock_doing text,
  lock_since timestamptz,
  lock_progress text, -- how far the holder is, in words, and when it said so
  lock_progress_at timestamptz
);

CREATE TABLE directory_g000001 (
  nif text COLLATE "C" PRIMARY KEY,
  legal_name text NOT NULL,
  normalized_name text COLLATE "C" NOT NULL,
  sort_key text COLLATE "C" NOT NULL
);

-- Every word of a generation's names, and how many entries have it.
CREATE TABLE directory_g000001_vocabulary (
  word text COLLATE "C" PRIMARY KEY,
  entries integer NOT NULL
);

INSERT INTO directory_generations (id, table_name, rows, origin, created_by)
VALUES (1, 'directory_g000001', 0, 'empty', 'migration');
INSERT INTO directory (current) VALUES (1);
