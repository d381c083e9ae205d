-- A key's share of the account's rate. All connections of an account share one bucket of half its rate, too: those that were made
-- before this release, or by one, do so once they are limited.
ALTER TABLE api_keys
  ADD COLUMN requests_per_minute integer CHECK (requests_per_minute > 0),
  ADD COLUMN shares_rate boolean NOT NULL DEFAULT false;
