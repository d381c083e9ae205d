-- Every page of the dashboard and every `/usage` counts an account's active keys: revoked ones must not make that slower.
CREATE INDEX api_keys_active ON api_keys (account_id) WHERE revoked_at IS NULL;
