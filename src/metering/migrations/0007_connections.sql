-- Connections: keys that agents got by a member's sign-in (OAuth 2.1). They work at /mcp alone.

-- A key of this kind has a secret that nobody knows; its access tokens are in connection_tokens. Its end moves with each refresh.
-- A code that is not exchanged leaves a key that has ended.
CREATE TABLE connections (
  key_id text PRIMARY KEY REFERENCES api_keys (id),
  account_id text NOT NULL REFERENCES accounts (id),
  member_id text NOT NULL, -- the user of the dashboard who connected it; it ends with their membership (0004_dashboard.sql)
  client_id text NOT NULL, -- the https address of the client's metadata document, or the id of a registered client
  client_name text NOT NULL, -- as the client calls itself, which proves nothing
  redirect_uri text NOT NULL, -- the address that the code was sent to
  code_sha256 bytea NOT NULL UNIQUE,
  challenge text NOT NULL, -- S256 of the client's verifier
  code_used_at timestamptz -- NULL: not exchanged yet
);
CREATE INDEX connections_by_account ON connections (account_id);
CREATE INDEX connections_by_member ON connections (member_id);

-- Access tokens. Each is a secret of its connection's key.
CREATE TABLE connection_tokens (
  secret_sha256 bytea PRIMARY KEY,
  key_id text NOT NULL REFERENCES connections (key_id),
  until timestamptz NOT NULL
);
CREATE INDEX connection_tokens_by_key ON connection_tokens (key_id, until);
CREATE INDEX connection_tokens_by_end ON connection_tokens (until);

-- Refresh tokens. A used one is kept, because its reuse shows that it was stolen.
CREATE TABLE connection_refresh_tokens (
  secret_sha256 bytea PRIMARY KEY,
  key_id text NOT NULL REFERENCES connections (key_id),
  created_at timestamptz NOT NULL DEFAULT now(),
  used_at timestamptz, -- NULL: not yet
  uses integer NOT NULL DEFAULT 0
);
CREATE INDEX connection_refresh_tokens_by_key ON connection_refresh_tokens (key_id);
CREATE INDEX connection_refresh_tokens_by_age ON connection_refresh_tokens (created_at);

-- Requests for a connection that wait for their member's consent, in the browser that began them.
CREATE TABLE connection_requests (
  id_sha256 bytea PRIMARY KEY,
  browser_sha256 bytea NOT NULL, -- of a cookie
  client_id text NOT NULL,
  redirect_uri text NOT NULL,
  parameters jsonb NOT NULL, -- the others, as they were sent
  client_name text, -- NULL: the client is not known yet, or does not name this redirect_uri
  until timestamptz NOT NULL
);
CREATE INDEX connection_requests_by_end ON connection_requests (until);

-- Clients that have registered themselves (OAUTH_REGISTRATION).
CREATE TABLE connection_clients (
  id text PRIMARY KEY,
  name text NOT NULL,
  redirect_uris text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX connection_clients_by_age ON connection_clients (created_at);
