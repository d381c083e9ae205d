import { hash } from 'node:crypto';
import { basename, join } from 'node:path';
import postgres from 'postgres';
import { messageOf, RefusedError } from '../errors.ts';
import { SECOND } from '../units.ts';
import type { Transaction } from './connect.ts';
import { openDedicated } from './dedicated.ts';

const SRC = join(import.meta.dir, '../..');
/** Each wing has its own, and all have one order, by their numbers. */
const MIGRATIONS = new Bun.Glob('*/migrations/*.sql');

/** An arbitrary number of our own lock, under which one instance migrates at a time. */
const MIGRATION_LOCK = 7_205_440_331;

/**
 * Applies the missing migrations in the order of their numbers, all or none: one transaction, under the lock. Migrations that were
 * applied are compared by their content, because an edited one has made other tables.
 *
 * @param dataDir the DATA_DIR of an embedded database
 * @returns the names of those applied now, e.g. `['0001_accounts']`
 * @throws RefusedError when the database has other migrations than this version, or the role may not make them
 */
export async function migrate(databaseUrl: string, dataDir: string | null = null): Promise<string[]> {
  // A migration may take long, so its connection has no other timeout.
  const connection = openDedicated(databaseUrl, {
    applicationName: 'company-directory migration',
    lockTimeoutMs: 60 * SECOND,
  });
  try {
    return await connection.begin((sql) => applyMissing(sql, dataDir));
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error;
    const { database, user } = connection.options;
    throw new RefusedError(
      `the database ${database} can't be migrated by the role ${user}: ${messageOf(error)}: check DATABASE_URL`,
      { cause: error },
    );
  } finally {
    await connection.end({ timeout: 1 });
  }
}

async function applyMissing(sql: Transaction, dataDir: string | null): Promise<string[]> {
  await sql`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`;
  await sql`
    CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY,
      sha256 text NOT NULL, -- of its file
      applied_at timestamptz NOT NULL DEFAULT now()
    )`;
  const missing = await readMigrations();
  const applied = await sql<{ name: string; sha256: string }[]>`
    SELECT name, sha256 FROM schema_migrations ORDER BY name`;
  for (const { name, sha256 } of applied) {
    const known = missing.get(name);
    if (known === undefined) throw ofAnotherVersion(dataDir, `it has a migration ${name}`);
    if (known.sha256 !== sha256) throw ofAnotherVersion(dataDir, `its migration ${name} differs`);
    missing.delete(name);
  }
  for (const [name, { text, sha256 }] of missing) {
    await sql.unsafe(text);
    await sql`INSERT INTO schema_migrations (name, sha256) VALUES (${name}, ${sha256})`;
  }
  return [...missing.keys()];
}

/** All migrations by name, in the order of their numbers. */
export async function readMigrations(): Promise<Map<string, { text: string; sha256: string }>> {
  const migrations = new Map<string, { text: string; sha256: string }>();
  for await (const path of MIGRATIONS.scan(SRC)) {
    const text = await Bun.file(join(SRC, path)).text();
    migrations.set(basename(path, '.sql'), { text, sha256: hash('sha256', text) });
  }
  return new Map([...migrations].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The refusal of data that this version neither made nor can go on with. Nothing tells which of two versions is newer.
 *
 * @param dataDir the DATA_DIR of embedded data; `null` means a database that DATABASE_URL names
 * @param reason what differs
 */
function ofAnotherVersion(dataDir: string | null, reason: string): RefusedError {
  const [data, instead] =
    dataDir === null
      ? ['the database', 'let DATABASE_URL name an empty database']
      : [`the data in DATA_DIR ${dataDir}`, 'set DATA_DIR to a new folder'];
  return new RefusedError(`${data} is of another version (${reason}): start that version, or ${instead}`);
}
