/** Makes the data directory, and in it the role and the database of the service. */
import { chownSync, mkdtempSync, readFileSync, renameSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf } from '../../errors.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import { SECOND } from '../../units.ts';
import { connectPostgres, type Sql } from '../connect.ts';
import { explainFileError, explainProgram } from './embedded-errors.ts';
import type { Launcher } from './launcher.ts';
import { hasCluster, type Layout, syncDirectory } from './paths.ts';
import { socketUrl } from './socket.ts';

const UNFINISHED = 'cluster.new-';

/** The `-D` of a program whose working directory is the data directory (see `chooseLauncher`). */
export const dataArgument = (directory: string) =>
  process.platform === 'linux' ? '/proc/self/cwd' : directory;

/**
 * Makes the data directory with initdb, unless something has its name, in whatever state. It gets its name when it is complete, so
 * an interrupted run leaves only a folder that the next run removes. Call it with the mutex held.
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
  if (hasCluster(layout)) return;
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
  // Postgres listens on its socket alone, which only the owner reaches.
  const args = [
    '--username=postgres',
    '--auth-local=trust',
    '--auth-host=reject',
    '--locale=C',
    '--encoding=UTF8',
  ];
  args.push('--no-instructions', `--pgdata=${dataArgument(cwd)}`);
  const { code, output } = await launcher.run('initdb', args, { cwd, signal });
  signal?.throwIfAborted();
  if (code === 0) return;
  const what = `the embedded Postgres could not be set up in ${layout.home}`;
  throw explainProgram(layout.dataDir, what, output);
}

/** @throws Error when the data directory is of another Postgres, can't be entered, or is not whole */
export function checkVersion(layout: Layout, binariesMajor: number): void {
  const dataMajor = readMajorVersion(layout);
  if (dataMajor === binariesMajor) return;
  throw new Error(
    `${layout.cluster} was written by Postgres ${dataMajor} and can't be read by Postgres ${binariesMajor}: dump it ` +
      'with the release of this service that wrote it, set DATA_DIR to a new directory, and restore the dump there',
  );
}

function readMajorVersion({ cluster, dataDir }: Layout): number {
  let text = '';
  try {
    text = readFileSync(join(cluster, 'PG_VERSION'), 'utf8');
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw explainFileError(error, dataDir);
  }
  if (/^\d+\s*$/.test(text)) return Number.parseInt(text, 10);
  throw new Error(
    `${cluster} is no whole data directory of Postgres (it has no PG_VERSION): restore it from a copy, ` +
      'or set DATA_DIR to a new folder',
  );
}

const SUPERUSER = 'postgres';
/** The service's role, which owns the database of the same name. */
const SERVICE = 'company_directory';
const ANSWER_TIMEOUT_MS = 5 * SECOND;
/** The role or its database is missing, or the role may not log in. */
const UNPREPARED = ['28000', '3D000'];

/** The address of the service's database, for the service's role. It also works for `psql` and `pg_dump`. */
export const databaseUrl = (socketFolder: string): string => socketUrl(socketFolder, SERVICE, SERVICE);

/**
 * Makes sure that the service's role can open its database. If it can't, the superuser makes the role and the database: on the
 * first start, and after a crash in the middle of it. Each step can be repeated. Call it with the mutex held.
 *
 * @returns `null` when the service can work; otherwise the reason why it can't yet
 */
export async function checkDatabase(socketFolder: string): Promise<string | null> {
  try {
    await inSession(databaseUrl(socketFolder), (sql) => sql`SELECT 1`).catch((error) => {
      if (!UNPREPARED.includes(codeOf(error) ?? '')) throw error;
      return inSession(socketUrl(socketFolder, SUPERUSER, SUPERUSER), makeDatabase);
    });
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

async function makeDatabase(sql: Sql): Promise<void> {
  await sql.unsafe(`
    DO $$ BEGIN CREATE ROLE ${SERVICE}; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
    ALTER ROLE ${SERVICE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS`);
  const existing = await sql`SELECT 1 FROM pg_database WHERE datname = ${SERVICE}`;
  if (existing.length === 0) await sql.unsafe(`CREATE DATABASE ${SERVICE} OWNER ${SERVICE}`);
}

async function inSession<T>(url: string, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = connectPostgres(url, { max: 1 });
  try {
    return await withTimeout(work(sql), ANSWER_TIMEOUT_MS, 'it');
  } finally {
    await sql.end({ timeout: 0 });
  }
}
