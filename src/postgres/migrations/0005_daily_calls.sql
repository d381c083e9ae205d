-- Admitted calls a day, key and kind, for the dashboard's plot. Added up every few seconds from the journal that the
-- statement that spends the credit writes (call_journal, since 0007).
CREATE TABLE daily_calls (
  account_id text NOT NULL REFERENCES accounts (id),
  day date NOT NULL, -- UTC
  key_id text NOT NULL, -- '' for calls made in the dashboard
  kind text NOT NULL CHECK (kind IN ('search', 'lookup')),
  calls bigint NOT NULL,
  PRIMARY KEY (account_id, day, key_id, kind)
) WITH (fillfactor = 50);
