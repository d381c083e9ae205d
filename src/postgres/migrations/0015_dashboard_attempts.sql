-- Attempts to sign in or up and mails that were asked for, counted by address and by SHA-256 of the email
-- (src/dashboard/limits.ts). It replaces dashboard_rate_limits, which the previous version still uses.
CREATE TABLE dashboard_attempts (
  key text PRIMARY KEY,
  attempts integer NOT NULL CHECK (attempts >= 0),
  ends_at timestamptz NOT NULL -- the attempts count until then
);
CREATE INDEX dashboard_attempts_by_end ON dashboard_attempts (ends_at);

-- A new password ends every session of its user. This runs in the statement that writes the password, so that a session
-- that was opened with the old one while a reset ran is removed, too (src/dashboard/sessions.ts has the other half).
CREATE FUNCTION dashboard_end_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM dashboard_sessions WHERE "userId" = NEW."userId";
  RETURN NULL;
END
$$;

CREATE TRIGGER dashboard_new_password
AFTER UPDATE OF "password" ON dashboard_credentials
FOR EACH ROW WHEN (OLD."password" IS DISTINCT FROM NEW."password")
EXECUTE FUNCTION dashboard_end_sessions();
