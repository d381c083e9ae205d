-- When each member last signed in, and changes of email that wait for their confirmation (src/dashboard/auth/email-change.ts).
ALTER TABLE dashboard_members ADD COLUMN signed_in_at timestamptz; -- NULL: not since this version

CREATE TABLE dashboard_email_changes (
  user_id text PRIMARY KEY REFERENCES dashboard_users ("id") ON DELETE CASCADE,
  email text NOT NULL, -- the new one, in lower case
  token_sha256 bytea NOT NULL UNIQUE,
  expires_at timestamptz NOT NULL
);

-- A new password ends every session of its user, and a change of email: someone else may have asked for it.
CREATE OR REPLACE FUNCTION dashboard_end_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM dashboard_sessions WHERE "userId" = NEW."userId";
  DELETE FROM dashboard_email_changes WHERE user_id = NEW."userId";
  RETURN NULL;
END
$$;

-- Sign-ins are removed by age (src/dashboard/auth/remove-expired.ts).
CREATE INDEX account_events_sign_ins ON account_events (at) WHERE kind = 'signed-in';
