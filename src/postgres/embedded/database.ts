import postgres from 'postgres';
import { codeOf, messageOf, RefusedError } from '../../errors.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import { SECOND } from '../../units.ts';
import { keepPassword, type Layout, readPassword } from './layout.ts';

const SUPERUSER = 'postgres';
/** The service's role, which owns the database of the same name and everything in it. */
const SERVICE = 'company_directory';
const ANSWER_TIMEOUT_MS = 5 * SECOND;
const WRONG_PASSWORD = '28P01';
/** The role or its database is missing, or the role may not log in. */
const UNPREPARED = [WRONG_PASSWORD, '28000', '3D000'];

/** Objects outside of Postgres's own schemas. Temporary ones are in a schema `pg_temp_…`. */
const IN_OUR_SCHEMAS = (column: string) =>
  `${column} IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')`;

/**
 * Objects of the database that belong to another role, in the notation of `ALTER`. Indexes, row types and the sequences of
 * columns follow their table. `REASSIGN OWNED` does not work for the superuser that initdb makes.
 */
const OWNED_BY_OTHERS = `
  SELECT 'TABLE ' || c.oid::regclass AS object
  FROM pg_class c
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND c.relowner <> '${SERVICE}'::regrole
    AND ${IN_OUR_SCHEMAS('c.relnamespace')}
    AND NOT EXISTS (
      SELECT FROM pg_depend d
      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
        AND d.deptype IN ('a', 'i') AND c.relkind = 'S'
    )
  UNION ALL
  SELECT 'ROUTINE ' || p.oid::regprocedure
  FROM pg_proc p
  WHERE p.proowner <> '${SERVICE}'::regrole AND ${IN_OUR_SCHEMAS('p.pronamespace')}
  UNION ALL
  SELECT 'TYPE ' || t.oid::regtype
  FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
  WHERE t.typowner <> '${SERVICE}'::regrole AND ${IN_OUR_SCHEMAS('t.typnamespace')}
    AND (t.typtype IN ('d', 'e', 'r') OR c.relkind = 'c')
  UNION ALL
  SELECT 'SCHEMA ' || n.oid::regnamespace
  FROM pg_namespace n
  WHERE n.nspowner <> '${SERVICE}'::regrole AND n.nspname <> 'public' AND ${IN_OUR_SCHEMAS('n.oid')}`;

/** One row if the service can work, none if the database has to be prepared. */
const IS_PREPARED = `
  SELECT 1 FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba
  WHERE d.datname = current_database() AND r.rolname = current_user AND NOT r.rolsuper
    AND NOT EXISTS (${OWNED_BY_OTHERS})`;

const TAKE_OVER = `
  SET lock_timeout = '2s';
  DO $do$
  DECLARE object text;
  BEGIN
    FOR object IN ${OWNED_BY_OTHERS} LOOP
      EXECUTE format('ALTER %s OWNER TO ${SERVICE}', object);
    END LOOP;
  END $do$`;

/** The address of the service's database, for the service's role. It also works for `psql` and `pg_dump`. */
export function databaseUrl(layout: Layout, port: number): string {
  return urlOf(SERVICE, layout.servicePassword, port, SERVICE);
}

/**
 * Makes sure that the database answers the service's role and belongs to it.
 *
 * The superuser creates what is missing: on the first start, after a crash in the middle of it, and in a data directory whose
 * objects belong to another role. Each step can be repeated. Call it with the mutex held.
 *
 * @returns `null` when the service can work; otherwise the reason why it can't yet
 * @throws RefusedError when the superuser's password is needed and lost
 */
export async function checkDatabase(layout: Layout, port: number): Promise<string | null> {
  keepPassword(layout, layout.servicePassword);
  try {
    if (await isPrepared(layout, port)) return null;
    await prepare(layout, port);
    return (await isPrepared(layout, port)) ? null : 'its database does not belong to the service';
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    if (codeOf(error) !== WRONG_PASSWORD) return messageOf(error);
    throw new RefusedError(
      `${layout.password} is not this Postgres's password: bring it back from a backup of DATA_DIR`,
    );
  }
}

async function isPrepared(layout: Layout, port: number): Promise<boolean> {
  try {
    const rows = await withSession(databaseUrl(layout, port), (sql) => sql.unsafe(IS_PREPARED));
    return rows.length === 1;
  } catch (error) {
    if (UNPREPARED.includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}

async function prepare(layout: Layout, port: number): Promise<void> {
  const asSuperuser = (database: string) => urlOf(SUPERUSER, layout.password, port, database);
  const password = readPassword(layout.servicePassword).replaceAll("'", "''");
  await withSession(asSuperuser(SUPERUSER), async (sql) => {
    await sql.unsafe(`
      DO $$ BEGIN CREATE ROLE ${SERVICE}; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
      ALTER ROLE ${SERVICE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
        PASSWORD '${password}'`);
    const [existing] = await sql`SELECT 1 AS found FROM pg_database WHERE datname = ${SERVICE}`;
    await sql.unsafe(
      existing === undefined
        ? `CREATE DATABASE ${SERVICE} OWNER ${SERVICE}`
        : `ALTER DATABASE ${SERVICE} OWNER TO ${SERVICE}`,
    );
  });
  await withSession(asSuperuser(SERVICE), (sql) => sql.unsafe(TAKE_OVER));
}

function urlOf(role: string, passwordFile: string, port: number, database: string): string {
  const password = encodeURIComponent(readPassword(passwordFile));
  return `postgres://${role}:${password}@127.0.0.1:${port}/${database}?require_auth=scram-sha-256`;
}

async function withSession<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, {
    max: 1,
    ssl: false,
    fetch_types: false,
    connect_timeout: ANSWER_TIMEOUT_MS / SECOND,
    onnotice: () => undefined,
  });
  try {
    return await withTimeout(work(sql), ANSWER_TIMEOUT_MS, 'it');
  } finally {
    await sql.end({ timeout: 0 });
  }
}
