/** Databases for tests. Importing this file starts Postgres. */
import { randomBytes } from 'node:crypto';
import { connectPostgres, type Sql } from '../../src/platform/postgres/connect.ts';
import { migrate } from '../../src/platform/postgres/migrate.ts';
import { databasePrefix } from '../servers/postgres.ts';
import { urlOf, useServers } from '../servers/shared.ts';
import { poll } from './until.ts';

await useServers('postgres');

/** The server's maintenance database, whose user may create databases. */
export const postgresUrl = urlOf('postgres');

const PREFIX = databasePrefix(process.env.TEST_RUN_ID!);
/** Arbitrary, ours alone: one process at a time makes the template. */
const TEMPLATE_LOCK = 6_203_117_845;

/** Shared by all tests of the process: a connection costs both sides as much as a database. It doesn't outlive the last test for long. */
const administrator = connectPostgres(
  postgresUrl,
  { max: 2, applicationName: 'test administration' },
  { idle_timeout: 1, fetch_types: false },
);
let template: Promise<string> | null = null;

/** `await using` drops it, too. */
export type TestDatabase = AsyncDisposable & { url: string; sql: Sql; drop(): Promise<void> };

/**
 * Creates an empty, migrated database that nobody else uses, as a copy of a template that is migrated once per run.
 * @param name goes into the database's name, to recognize it in `pg_stat_activity`.
 * @returns its URL, a pool of five connections on it, and `drop`, which ends the pool and removes the database.
 * @throws (from `drop`) Error when connections other than the pool's were left open: something was not closed.
 */
export async function createTestDatabase(name = 'test'): Promise<TestDatabase> {
  template ??= ensureTemplate();
  return createFrom(await template, name);
}

/** Creates a copy of a test database. The sessions on it end; its pool connects again by itself. */
export async function copyTestDatabase({ url }: TestDatabase, name = 'copy'): Promise<TestDatabase> {
  const original = new URL(url).pathname.slice(1);
  const allow = (allowed: boolean) =>
    administrator.unsafe(`ALTER DATABASE "${original}" ALLOW_CONNECTIONS ${allowed}`);
  await allow(false);
  await administrator`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${original}`;
  try {
    return await createFrom(original, name);
  } finally {
    await allow(true);
  }
}

/** @param options of CREATE DATABASE; by default it copies files, in half of the time that writing every page to the log takes */
async function createFrom(
  template: string,
  name: string,
  options = 'STRATEGY FILE_COPY',
): Promise<TestDatabase> {
  const database = `${PREFIX}${name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 20)}_${randomBytes(4).toString('hex')}`;
  const copied = administrator(template);
  const further = administrator.unsafe(options);
  await administrator`CREATE DATABASE ${administrator(database)} TEMPLATE ${copied} ${further}`;
  const url = databaseUrl(database);
  const sql = connectPostgres(url, { max: 5, applicationName: 'test' });
  const drop = async () => {
    await sql.end({ timeout: 5 });
    const leaked = await openConnections(database);
    await dropDatabase(database);
    if (leaked.length > 0) {
      throw new Error(`connections to the test database were left open: ${leaked.join('; ')}`);
    }
  };
  return { url, sql, drop, [Symbol.asyncDispose]: drop };
}

/**
 * Creates an empty database without a schema, for tests of the migrations themselves.
 * @param options of CREATE DATABASE, as SQL
 */
export const createEmptyDatabase = (name = 'empty', options = ''): Promise<TestDatabase> =>
  createFrom('template0', name, options);

/** The run's migrated template; processes that need it at once wait for the first. */
async function ensureTemplate(): Promise<string> {
  const template = `${PREFIX}template`;
  const sql = await administrator.reserve(); // the lock is the session's
  await sql`SELECT pg_advisory_lock(${TEMPLATE_LOCK})`;
  try {
    const [existing] = await sql`SELECT 1 FROM pg_database WHERE datname = ${template}`;
    if (existing) return template;
    // Under another name until it is complete: a failed migration must fail every test, not the first one only.
    const unfinished = `${template}_unfinished`;
    await dropDatabase(unfinished);
    await sql`CREATE DATABASE ${sql(unfinished)} TEMPLATE template0`;
    await migrate(databaseUrl(unfinished));
    // A closed connection's server process takes a moment to go; nobody may be on a database that is renamed.
    await openConnections(unfinished);
    await sql`ALTER DATABASE ${sql(unfinished)} RENAME TO ${sql(template)}`;
    return template;
  } finally {
    await sql`SELECT pg_advisory_unlock(${TEMPLATE_LOCK})`;
    sql.release();
  }
}

/** The sessions that still use the database after five seconds, e.g. `company-directory (idle)`. */
async function openConnections(database: string): Promise<string[]> {
  const read = () => administrator<{ application: string; state: string | null }[]>`
    SELECT application_name AS application, state FROM pg_stat_activity
    WHERE datname = ${database} AND backend_type = 'client backend'`;
  const open = await poll(read, ({ length }) => length === 0, 5000);
  return open.map(({ application, state }) => `${application || 'unnamed'} (${state ?? 'unknown'})`);
}

async function dropDatabase(database: string): Promise<void> {
  await administrator`DROP DATABASE IF EXISTS ${administrator(database)} WITH (FORCE)`;
}

function databaseUrl(database: string): string {
  const url = new URL(postgresUrl);
  url.pathname = `/${database}`;
  return url.href;
}
