import { chownSync, closeSync, existsSync, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { codeOf, messageOf, RefusedError } from '../../errors.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import { SECOND } from '../../units.ts';
import type { Launcher } from './launcher.ts';
import {
  diskFull,
  keepPassword,
  type Layout,
  readPassword,
  syncDirectory,
  writePrivateFile,
} from './layout.ts';

/** Makes the data directory, and in it the role and the database of the service. */

const UNFINISHED = 'cluster.new-';

/** The `-D` of a program whose working directory is the data directory (see `chooseLauncher`). */
export const dataArgument = (directory: string) =>
  process.platform === 'linux' ? '/proc/self/cwd' : directory;

/**
 * Makes the data directory with initdb unless it exists. It gets its name when it is complete, so an interrupted run
 * leaves only a folder that the next run removes. Call it with the mutex held.
 *
 * @throws Error with one line when initdb fails
 */
export async function initializeCluster(
  layout: Layout,
  launcher: Launcher,
  signal?: AbortSignal,
): Promise<void> {
  await removeUnfinished(layout);
  if (existsSync(join(layout.cluster, 'PG_VERSION'))) return;
  keepPassword(layout, layout.password);
  const unfinished = mkdtempSync(join(layout.home, UNFINISHED));
  try {
    if (launcher.account) chownSync(unfinished, launcher.account.uid, launcher.account.gid);
    await runInitdb(layout, launcher, unfinished, signal);
    renameSync(unfinished, layout.cluster);
    syncDirectory(layout.home);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/**
 * An initdb whose starter was killed ends at its next line of output, but until then it may add files while we remove
 * them. A folder that can't be removed now is removed the next time.
 */
async function removeUnfinished(layout: Layout): Promise<void> {
  for (const name of await readdir(layout.home)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const options = { recursive: true, force: true, maxRetries: 20, retryDelay: 25 };
    await rm(join(layout.home, name), options).catch(() => undefined);
  }
}

async function runInitdb(
  layout: Layout,
  launcher: Launcher,
  cwd: string,
  signal?: AbortSignal,
): Promise<void> {
  const stdin = openPassword(layout, launcher);
  const args = ['--username=postgres', '--auth=scram-sha-256', '--pwfile=/dev/fd/0'];
  args.push('--locale=C', '--encoding=UTF8', '--no-instructions', `--pgdata=${dataArgument(cwd)}`);
  try {
    const { code, output } = await launcher.run('initdb', args, { cwd, stdin, signal });
    signal?.throwIfAborted();
    if (code !== 0) throw explainInitdb(layout, output);
  } finally {
    closeSync(stdin);
  }
}

/**
 * A copy of the password as an open file: initdb's account may own it, and can't pass the closed folder above it. The copy
 * is deleted at once; `/dev/fd/0` still opens it.
 */
function openPassword(layout: Layout, { account }: Launcher): number {
  const copy = `${layout.password}.initdb`;
  writePrivateFile(layout, copy, `${readPassword(layout.password)}\n`);
  try {
    if (account) chownSync(copy, account.uid, account.gid);
    return openSync(copy, 'r');
  } finally {
    rmSync(copy);
  }
}

function explainInitdb(layout: Layout, output: string): Error {
  if (/No space left on device|Disk quota exceeded/.test(output)) return diskFull(layout.dataDir);
  if (/error while loading shared libraries|Library not loaded/.test(output)) {
    return new Error(
      'the embedded Postgres is not completely installed (its install script has not run): ' +
        'remove node_modules and run `bun install`, or set DATABASE_URL',
    );
  }
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const reason =
    lines.find((line) => /(error|FATAL|PANIC):/.test(line)) ?? lines.at(-1) ?? 'initdb gave no reason';
  return new Error(`the embedded Postgres could not be set up in ${layout.home}: ${reason.trim()}`);
}

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
