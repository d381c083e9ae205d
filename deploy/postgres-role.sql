-- The service's role: it owns the service's database and nothing more. The image runs this file once, when it creates the data, as
-- superuser in the service's database. Run it again after you change the password (docs/operating.md).
--
-- The server reads the password itself, so that no command line has it. Terse: a failed statement is not repeated in the log.
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
