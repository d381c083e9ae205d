-- Who may open the dashboard, and of which account.

-- The models of better-auth under names of our own (its `account` is not ours); the columns keep its names. Its own
-- migrator is never run: a version that wants other columns gets a numbered migration here.
CREATE TABLE dashboard_users (
  "id" text PRIMARY KEY,
  "name" text NOT NULL,
  "email" text NOT NULL UNIQUE, -- in lower case
  "emailVerified" boolean NOT NULL,
  "image" text,
  "createdAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updatedAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE dashboard_sessions (
  "id" text PRIMARY KEY,
  "expiresAt" timestamptz NOT NULL,
  "token" text NOT NULL UNIQUE,
  "createdAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updatedAt" timestamptz NOT NULL,
  "ipAddress" text,
  "userAgent" text,
  "userId" text NOT NULL REFERENCES dashboard_users ("id") ON DELETE CASCADE
);
CREATE INDEX dashboard_sessions_by_user ON dashboard_sessions ("userId");

CREATE TABLE dashboard_credentials (
  "id" text PRIMARY KEY,
  "accountId" text NOT NULL, -- the user's id again: better-auth's word for the identity at its provider
  "providerId" text NOT NULL, -- 'credential'
  "userId" text NOT NULL REFERENCES dashboard_users ("id") ON DELETE CASCADE,
  "accessToken" text,
  "refreshToken" text,
  "idToken" text,
  "accessTokenExpiresAt" timestamptz,
  "refreshTokenExpiresAt" timestamptz,
  "scope" text,
  "password" text, -- scrypt, with its salt
  "createdAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updatedAt" timestamptz NOT NULL
);
CREATE INDEX dashboard_credentials_by_user ON dashboard_credentials ("userId");

CREATE TABLE dashboard_verifications (
  "id" text PRIMARY KEY,
  "identifier" text NOT NULL,
  "value" text NOT NULL,
  "expiresAt" timestamptz NOT NULL,
  "createdAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updatedAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX dashboard_verifications_by_identifier ON dashboard_verifications ("identifier");

-- Sign-ups and sign-in attempts by address. better-auth removes what has expired when an address comes back, and
-- src/dashboard/remove-expired.ts the rest.
CREATE TABLE dashboard_rate_limits (
  "id" text PRIMARY KEY,
  "key" text NOT NULL UNIQUE,
  "count" integer NOT NULL,
  "lastRequest" bigint NOT NULL -- Unix time in milliseconds
);

-- The one account that a user sees.
CREATE TABLE dashboard_members (
  user_id text PRIMARY KEY REFERENCES dashboard_users ("id") ON DELETE CASCADE,
  account_id text NOT NULL REFERENCES accounts (id)
);
CREATE INDEX dashboard_members_by_account ON dashboard_members (account_id);

-- One-time links that an operator makes with `account invite`.
CREATE TABLE dashboard_invitations (
  token_sha256 bytea PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  email text NOT NULL, -- in lower case
  actor text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
