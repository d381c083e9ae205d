import { chownSync, closeSync, existsSync, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf, RefusedError } from '../../errors.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import { SECOND } from '../../units.ts';
import { connectPostgres, type Sql } from '../connect.ts';
import type { Launcher } from './launcher.ts';
import {
  explainProgram,
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
  // An initdb whose starter was killed ends at its next line of output. If it adds files until then, a later run removes them.
  for (const name of await readdir(layout.home)) {
    if (name.startsWith(UNFINISHED)) {
      const options = { recursive: true, force: true, maxRetries: 20, retryDelay: 25 };
      await rm(join(layout.home, name), options).catch(() => undefined);
    }
  }
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
    if (code !== 0) {
      throw explainProgram(layout, `the embedded Postgres could not be set up in ${layout.home}`, output);
    }
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

const SUPERUSER = 'postgres';
/** The service's role, which owns the database of the same name. */
const SERVICE = 'company_directory';
const ANSWER_TIMEOUT_MS = 5 * SECOND;
const WRONG_PASSWORD = '28P01';
/** The role or its database is missing, or the role may not log in. */
const UNPREPARED = [WRONG_PASSWORD, '28000', '3D000'];

/** The address of the service's database, for the service's role. It also works for `psql` and `pg_dump`. */
export function databaseUrl(layout: Layout, port: number): string {
  return urlOf(SERVICE, layout.servicePassword, port, SERVICE);
}

/**
 * Makes sure that the service's role can open its database. If it can't, the superuser makes the role and the database: on the
 * first start, after a crash in the middle of it, and when the role's password was lost. Each step can be repeated. Call it with
 * the mutex held.
 *
 * @returns `null` when the service can work; otherwise the reason why it can't yet
 * @throws RefusedError when the superuser's password is needed and lost
 */
export async function checkDatabase(layout: Layout, port: number): Promise<string | null> {
  keepPassword(layout, layout.servicePassword);
  try {
    await inSession(databaseUrl(layout, port), (sql) => sql`SELECT 1`).catch((error) => {
      if (!UNPREPARED.includes(codeOf(error) ?? '')) throw error;
      return makeDatabase(layout, port);
    });
    return null;
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    if (codeOf(error) !== WRONG_PASSWORD) return messageOf(error);
    throw new RefusedError(
      `${layout.password} is not this Postgres's password: bring it back from a backup of DATA_DIR`,
    );
  }
}

async function makeDatabase(layout: Layout, port: number): Promise<void> {
  const password = readPassword(layout.servicePassword).replaceAll("'", "''");
  await inSession(urlOf(SUPERUSER, layout.password, port, SUPERUSER), async (sql) => {
    await sql.unsafe(`
      DO $$ BEGIN CREATE ROLE ${SERVICE}; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
      ALTER ROLE ${SERVICE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
        PASSWORD '${password}'`);
    const existing = await sql`SELECT 1 FROM pg_database WHERE datname = ${SERVICE}`;
    if (existing.length === 0) await sql.unsafe(`CREATE DATABASE ${SERVICE} OWNER ${SERVICE}`);
  });
}

function urlOf(role: string, passwordFile: string, port: number, database: string): string {
  const password = encodeURIComponent(readPassword(passwordFile));
  return `postgres://${role}:${password}@127.0.0.1:${port}/${database}?require_auth=scram-sha-256`;
}

async function inSession<T>(url: string, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = connectPostgres(url, { max: 1 });
  try {
    return await withTimeout(work(sql), ANSWER_TIMEOUT_MS, 'it');
  } finally {
    await sql.end({ timeout: 0 });
  }
}
