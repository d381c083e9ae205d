-- The activity of accounts (src/metering/activity): rows are only added, and removed by whole days.

CREATE TYPE activity_row AS (
  at timestamptz, -- of a charge and its returns: when the calls count at
  call_id uuid, -- NULL: the row stands for `unlisted` answers
  request_id text, -- the caller's; NULL: the call's id
  key_id text, -- '' for calls made in the dashboard
  endpoint text, -- or tool
  status smallint, -- of an answer
  problem text, -- of an answer; NULL: a repetition, or `unlisted` answers
  credits bigint, -- negative: returned
  unlisted bigint -- further answers of the same seconds
);

-- What one statement wrote of an account: its rows in the order of their numbers, which are consecutive. A table with a row for each
-- call took the roll-up twice the time, most of it for the index.
CREATE TABLE activity_parts (
  account_id text COLLATE "C" NOT NULL,
  first bigint NOT NULL, -- the numbers of its first and of its last row; rows become visible in the order of their numbers
  last bigint NOT NULL,
  kind text NOT NULL, -- 'charge', 'return' (of credits) or 'answer' (a problem, a refusal, or a repetition of a keyed request)
  rows activity_row[] NOT NULL,
  PRIMARY KEY (account_id, last)
) PARTITION BY RANGE (last);
-- The rows that are not charges, of which a page or a reader may look for few among many.
CREATE INDEX activity_answers ON activity_parts (account_id, last) WHERE kind <> 'charge';

-- What readers see. Ordered by `last, number` it is read part by part, in the order of the index.
CREATE VIEW activity AS
SELECT account_id, last, first + position - 1 AS number, kind,
  at, call_id, request_id, key_id, endpoint, status, problem, credits, unlisted
FROM activity_parts, unnest(rows) WITH ORDINALITY AS of_part
  (at, call_id, request_id, key_id, endpoint, status, problem, credits, unlisted, position);

-- The number of an instant, microseconds since 1970. Below 2^53 until the year 2255.
CREATE FUNCTION activity_number(instant timestamptz) RETURNS bigint IMMUTABLE
RETURN (extract(epoch FROM instant) * 1000000)::bigint;

-- One row. A statement that writes activity holds it from before its first number, and before it locks any other row, until the
-- commit. So a reader that goes on from a number misses nothing.
CREATE TABLE activity_numbers (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  last bigint NOT NULL, -- the highest number that was taken
  removed bigint NOT NULL -- rows up to this number are removed
);
INSERT INTO activity_numbers (last, removed) VALUES (0, 0);

-- Takes so many numbers, and returns the one before the first. They follow the clock, so a day's rows are a partition.
CREATE FUNCTION take_activity_numbers(amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  UPDATE activity_numbers SET last = greatest(last, activity_number(clock_timestamp())) + amount
  RETURNING last - amount INTO taken;
  RETURN taken;
END $$;

-- Makes the partitions of the present day (UTC) and of the next one. Call it before a statement that writes activity, because a
-- statement can't attach a partition to the table that it writes. Attaching a table waits for no reader, as `PARTITION OF` would.
CREATE FUNCTION make_activity_days() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  today timestamp;
  a_day timestamp;
  partition text;
BEGIN
  SELECT date_trunc('day', timestamp '1970-01-01'
    + greatest(last, activity_number(clock_timestamp())) * interval '1 microsecond') INTO today FROM activity_numbers;
  FOREACH a_day IN ARRAY ARRAY[today, today + interval '1 day'] LOOP
    partition := to_char(a_day, '"activity_"YYYYMMDD');
    CONTINUE WHEN to_regclass(partition) IS NOT NULL;
    PERFORM FROM activity_numbers FOR UPDATE;
    -- Another process may have made it meanwhile. `to_regclass` may still answer from before that wait; a query reads what is committed.
    CONTINUE WHEN EXISTS (SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'activity_parts'::regclass AND relname = partition);
    EXECUTE format('CREATE TABLE %I (LIKE activity_parts INCLUDING ALL) WITH (toast_tuple_target = 8160)', partition);
    EXECUTE format('ALTER TABLE activity_parts ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', partition,
      activity_number(a_day AT TIME ZONE 'UTC'), activity_number((a_day + interval '1 day') AT TIME ZONE 'UTC'));
  END LOOP;
END $$;
SELECT make_activity_days();

-- Those of some accounts that are not deleted. A function sees what was committed while its statement waited for the numbers, and
-- a deletion takes those before it removes an account's activity. So no row is written after that.
CREATE FUNCTION living_accounts(ids text[]) RETURNS TABLE (id text) VOLATILE LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT accounts.id FROM accounts WHERE accounts.id = ANY (ids) AND deleted_at IS NULL;
END $$;
