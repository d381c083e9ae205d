-- One table of sums by day, in the place of daily_calls, daily_error_answers, daily_totals and the triggers that kept the last.
--
-- A release before 0.2.0 goes on beside it: the old names are views that it can read. Its roll-up fails and is logged, and a process of
-- this release rolls up the calls of both. Its counts of error answers are not kept meanwhile.

CREATE TABLE daily_counts (
  account_id text COLLATE "C" NOT NULL,
  day date NOT NULL, -- UTC
  key_id text COLLATE "C" NOT NULL, -- '' for calls made in the dashboard; 'ended' for all keys that ended over 30 days ago; '*' for all
  kind text COLLATE "C" NOT NULL, -- src/http/call-kind.ts, and src/http/error-kind.ts for errors; no kind is in both
  hour smallint NOT NULL, -- UTC; -1 for the whole day. Only '*' has hours, for two days
  is_error boolean NOT NULL, -- an error answer, or a charged call
  calls bigint NOT NULL,
  credits bigint NOT NULL, -- that errors cost; 0 for charged calls
  PRIMARY KEY (account_id, day, key_id, kind, hour)
) WITH (fillfactor = 50); -- room for the counters' next versions on the same page (HOT updates)

INSERT INTO daily_counts (account_id, day, key_id, kind, hour, is_error, calls, credits)
SELECT account_id, day, key_id, kind, -1, false, calls, 0 FROM daily_calls
UNION ALL
SELECT account_id, day, key_id, kind, -1, true, calls, credits FROM daily_error_answers
UNION ALL
SELECT account_id, day, '*', kind, -1, kind NOT IN ('search', 'match', 'lookup', 'debts', 'resolve'), calls, credits FROM daily_totals
ORDER BY 1, 2, 3, 4;
-- Rows come in the order of days, and BRIN costs a write nothing. Old error answers and hours are removed by day.
CREATE INDEX daily_counts_by_day ON daily_counts USING brin (day);

DROP VIEW calls_by_day, call_counts, account_counts;
DROP TABLE daily_calls, daily_error_answers, daily_totals;
DROP FUNCTION add_to_totals();

-- The counts of keys, without sums over keys.
CREATE VIEW key_counts AS
SELECT account_id, day, key_id, kind, is_error, calls, credits FROM daily_counts WHERE key_id <> '*';

-- Charged calls that were rolled up, and those that were not yet: several rows for a day, key and kind, in the order of an index.
CREATE VIEW call_counts AS
SELECT account_id, day, key_id, kind, calls FROM key_counts WHERE NOT is_error
UNION ALL
SELECT account_id, day, key_id, kind, calls FROM journal_counts;

-- What the dashboard reads.
CREATE VIEW calls_by_day AS
SELECT account_id, day, key_id, kind, sum(calls)::bigint AS calls
FROM call_counts
GROUP BY account_id, day, key_id, kind
HAVING sum(calls) <> 0;

-- Calls and error answers of an account by day, those that were not rolled up yet, too: several rows for a day and kind.
CREATE VIEW account_counts AS
SELECT account_id, day, kind, calls, credits FROM daily_counts WHERE key_id = '*' AND hour = -1
UNION ALL
SELECT account_id, day, kind, calls, 0 FROM journal_counts;

-- For a release before 0.2.0, which only reads them: OFFSET makes an INSERT fail. They go with 0.3.0.
CREATE VIEW daily_calls AS
SELECT account_id, day, key_id, kind, calls FROM key_counts WHERE NOT is_error OFFSET 0;
CREATE VIEW daily_error_answers AS
SELECT account_id, day, key_id, kind, calls, credits FROM key_counts WHERE is_error OFFSET 0;
CREATE VIEW daily_totals AS
SELECT account_id, day, kind, calls, credits FROM daily_counts WHERE key_id = '*' AND hour = -1 OFFSET 0;
