-- The role that the service uses: the owner of its database, and nothing more. Postgres runs this once, when it makes its
-- data, as its superuser and in the service's database. It can be run again: after a change of the password, for example.
--
-- The server reads the password itself, so that no command line has it. Terse: a failure doesn't repeat the statement in the log.
SET log_error_verbosity = terse;
DO $$
DECLARE
  password text := btrim(pg_read_file('/run/secrets/database-password'), E' \t\r\n');
BEGIN
  IF password = '' THEN
    RAISE EXCEPTION 'the database password is empty';
  END IF;
  IF to_regrole('directory') IS NULL THEN
    CREATE ROLE directory;
  END IF;
  EXECUTE format(
    'ALTER ROLE directory LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD %L', password);
  EXECUTE format('ALTER DATABASE %I OWNER TO directory', current_database());
END
$$;
