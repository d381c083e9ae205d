-- Plus has room for 10,000 keys. The specification calls that unlimited, and /usage does too.
UPDATE plans SET api_keys = 10000 WHERE name = 'plus';
ALTER TABLE plans ALTER COLUMN api_keys SET NOT NULL;

-- A key that has ended takes no place. All reads of keys that work, or have ended, use this one index.
ALTER TABLE api_keys ADD COLUMN ends_at timestamptz NOT NULL
  GENERATED ALWAYS AS (coalesce(least(revoked_at, expires_at), 'infinity')) STORED;
DROP INDEX api_keys_active;
CREATE INDEX api_keys_by_end ON api_keys (account_id, ends_at);
-- How many keys an account has created in a day; its latest keys.
DROP INDEX api_keys_by_account;
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at, id);
