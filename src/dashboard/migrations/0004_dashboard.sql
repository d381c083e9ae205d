-- Who may open the dashboard, and of which account.

-- The models of better-auth under names of our own (its `account` is not ours); the columns keep its names. Its own
-- migrator is never run: a version that wants other columns gets a numbered migration here.
CREATE TABLE dashboard_users (
  "id" text PRIMARY KEY,
  "name" text NOT NULL,
  "email" text NOT NULL UNIQUE, -- in lower case
  "emailVerified" boolean NOT NULL,
  "image" text,
  "twoFactorEnabled" boolean NOT NULL DEFAULT false,
  "createdAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updatedAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- The TOTP secret and the backup codes of a user, encrypted with AUTH_SECRET by better-auth's twoFactor plugin.
CREATE TABLE dashboard_second_factors (
  "id" text PRIMARY KEY,
  "userId" text NOT NULL UNIQUE REFERENCES dashboard_users ("id") ON DELETE CASCADE,
  "secret" text NOT NULL,
  "backupCodes" text NOT NULL, -- those that are unused
  "verified" boolean NOT NULL DEFAULT true,
  "failedVerificationCount" integer NOT NULL DEFAULT 0,
  "lockedUntil" timestamptz,
  locks integer NOT NULL DEFAULT 0 -- since the last right code
);

-- better-auth locks the codes of a user for 15 minutes after ten wrong ones in a row. Here each further lock is twice as long, up to
-- a day, and a wrong code that was checked meanwhile does not shorten it. A right code begins the count again.
CREATE FUNCTION dashboard_grow_lock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD."lockedUntil" > now() AND NEW."lockedUntil" > now() THEN
    NEW."lockedUntil" := OLD."lockedUntil";
  ELSIF NEW."lockedUntil" > now() THEN
    NEW."lockedUntil" := now() + least((NEW."lockedUntil" - now()) * 2 ^ OLD.locks, interval '1 day');
    NEW.locks := least(OLD.locks + 1, 30);
  ELSIF OLD."lockedUntil" IS NULL AND NEW."failedVerificationCount" = 0 THEN
    NEW.locks := 0;
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER dashboard_code_lock
BEFORE UPDATE OF "failedVerificationCount", "lockedUntil" ON dashboard_second_factors
FOR EACH ROW EXECUTE FUNCTION dashboard_grow_lock();

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
CREATE UNIQUE INDEX dashboard_credentials_by_user ON dashboard_credentials ("userId", "providerId");

CREATE TABLE dashboard_verifications (
  "id" text PRIMARY KEY,
  "identifier" text NOT NULL,
  "value" text NOT NULL,
  "expiresAt" timestamptz NOT NULL,
  "createdAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updatedAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX dashboard_verifications_by_identifier ON dashboard_verifications ("identifier");

-- The one account of a user. A user has none before the first request after a sign-up.
CREATE TABLE dashboard_members (
  user_id text PRIMARY KEY REFERENCES dashboard_users ("id") ON DELETE CASCADE,
  account_id text NOT NULL REFERENCES accounts (id),
  role text NOT NULL DEFAULT 'owner' CHECK (role IN ('owner', 'member')),
  signed_in_at timestamptz, -- the latest time; NULL: never
  language text, -- of the member's latest visit; NULL: none yet
  usage_alerts boolean NOT NULL DEFAULT true -- whether the member wants mails about the allowance
);
CREATE INDEX dashboard_members_by_account ON dashboard_members (account_id);

-- Who belongs to an account, and in which role: the one name of this wing that the wings below read.
CREATE VIEW account_members AS
SELECT member.account_id, member.user_id, member.role, u."email"
FROM dashboard_members member JOIN dashboard_users u ON u."id" = member.user_id;

-- A suspension ends the sessions of the account's members.
CREATE FUNCTION dashboard_end_suspended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM dashboard_sessions WHERE "userId" IN (SELECT user_id FROM dashboard_members WHERE account_id = NEW.id);
  RETURN NULL;
END
$$;

CREATE TRIGGER dashboard_account_suspended
AFTER UPDATE OF suspended_at ON accounts
FOR EACH ROW WHEN (OLD.suspended_at IS NULL AND NEW.suspended_at IS NOT NULL)
EXECUTE FUNCTION dashboard_end_suspended();

-- A user goes with their membership: their sessions and password in cascade, the links that were mailed to them, and the agents that
-- they have connected (0007_connections.sql).
CREATE FUNCTION dashboard_remove_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM dashboard_verifications WHERE "value" = OLD.user_id;
  DELETE FROM dashboard_users WHERE "id" = OLD.user_id;
  UPDATE api_keys SET revoked_at = now()
  WHERE revoked_at IS NULL AND id IN (SELECT key_id FROM connections WHERE member_id = OLD.user_id);
  RETURN NULL;
END
$$;

CREATE TRIGGER dashboard_member_removed
AFTER DELETE ON dashboard_members FOR EACH ROW EXECUTE FUNCTION dashboard_remove_user();

-- One-time links that an operator makes with `account invite`, and owners on the page of members.
CREATE TABLE dashboard_invitations (
  token_sha256 bytea PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  email text NOT NULL, -- in lower case
  role text NOT NULL CHECK (role IN ('owner', 'member')), -- the most that it makes of its reader
  actor text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
CREATE INDEX dashboard_invitations_by_account ON dashboard_invitations (account_id, used_at);

-- Changes of email that wait for their confirmation (src/dashboard/account/email-change.ts).
CREATE TABLE dashboard_email_changes (
  user_id text PRIMARY KEY REFERENCES dashboard_users ("id") ON DELETE CASCADE,
  email text NOT NULL, -- the new one, in lower case
  token_sha256 bytea NOT NULL UNIQUE,
  expires_at timestamptz NOT NULL
);

-- A new password ends every session of its user, a change of email, and links and sign-ins that are not complete: someone else may
-- have asked for them. So does a second factor that is turned on or off. This runs in the statement that writes the change, so that a
-- session that was opened while a reset ran is removed, too (src/dashboard/auth/sessions.ts has the other half).
CREATE FUNCTION dashboard_end_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed text := coalesce(to_jsonb(NEW) ->> 'userId', NEW."id");
BEGIN
  DELETE FROM dashboard_sessions WHERE "userId" = changed;
  DELETE FROM dashboard_email_changes WHERE user_id = changed;
  DELETE FROM dashboard_verifications WHERE "value" = changed;
  RETURN NULL;
END
$$;

CREATE TRIGGER dashboard_new_password
AFTER UPDATE OF "password" ON dashboard_credentials
FOR EACH ROW WHEN (OLD."password" IS DISTINCT FROM NEW."password")
EXECUTE FUNCTION dashboard_end_sessions();

CREATE TRIGGER dashboard_second_factor_changed
AFTER UPDATE OF "twoFactorEnabled" ON dashboard_users
FOR EACH ROW WHEN (OLD."twoFactorEnabled" IS DISTINCT FROM NEW."twoFactorEnabled")
EXECUTE FUNCTION dashboard_end_sessions();

-- Attempts to sign in or up and mails that were asked for, counted by address and by SHA-256 of the email
-- (src/dashboard/auth/limits.ts).
CREATE TABLE dashboard_attempts (
  key text PRIMARY KEY,
  attempts integer NOT NULL CHECK (attempts >= 0),
  ends_at timestamptz NOT NULL -- the attempts count until then
);
CREATE INDEX dashboard_attempts_by_end ON dashboard_attempts (ends_at);

-- Mails that answer no request (src/dashboard/mails/due-mails.ts): the latest occasion that a member got one for.
CREATE TABLE dashboard_sent_mails (
  user_id text NOT NULL REFERENCES dashboard_members ON DELETE CASCADE,
  topic text NOT NULL, -- such as a key, or 80% of the allowance
  occasion text NOT NULL, -- such as a period; a new one sends a new mail
  PRIMARY KEY (user_id, topic)
);
