-- Keys that expire, and secrets that a rotation has replaced.
ALTER TABLE api_keys ADD COLUMN expires_at timestamptz; -- NULL: never

-- An earlier secret of a key works until then. The current secret is in api_keys, so that the previous version, which reads
-- only that, serves every key that was not rotated.
CREATE TABLE api_key_previous_secrets (
  secret_sha256 bytea PRIMARY KEY,
  key_id text NOT NULL REFERENCES api_keys (id),
  until timestamptz NOT NULL
);
CREATE INDEX api_key_previous_secrets_by_key ON api_key_previous_secrets (key_id);

-- src/accounts/events.ts lists the kinds. A constraint here would have to be changed with every new one.
ALTER TABLE account_events DROP CONSTRAINT IF EXISTS account_events_kind_check;
