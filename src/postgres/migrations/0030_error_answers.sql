-- Error answers of the API by day, for the dashboard (src/usage/error-answers.ts). Each process counts in memory, and adds its
-- counts here every few seconds. No foreign key: its check would wait for every transaction that locks the account.
CREATE TABLE daily_error_answers (
  account_id text COLLATE "C" NOT NULL,
  day date NOT NULL, -- UTC
  key_id text NOT NULL, -- '' for calls made in the dashboard
  kind text NOT NULL, -- a problem with status 429, or '4xx' or '5xx' for other problems
  calls bigint NOT NULL,
  PRIMARY KEY (account_id, day, key_id, kind)
) WITH (fillfactor = 50); -- room for the counters' next versions on the same page (HOT updates)

-- The latest batch of counts that each process has added. A process that got no answer sends its batch again, and it is added once.
CREATE TABLE error_answer_writers (
  id uuid PRIMARY KEY,
  batch integer NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now()
);
