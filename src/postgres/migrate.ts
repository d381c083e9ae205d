import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { messageOf, RefusedError } from '../errors.ts';
import { SECOND } from '../units.ts';
import type { Transaction } from './connect.ts';
import { openDedicated } from './dedicated.ts';

const MIGRATIONS = join(import.meta.dir, 'migrations');

/** An arbitrary number of our own lock, under which one instance migrates at a time. */
const MIGRATION_LOCK = 7_205_440_331;

/**
 * Applies the missing migrations in the order of their numbers, all or none: one transaction, under the lock.
 *
 * @returns the names of those applied now, e.g. `['0001_accounts']`
 * @throws RefusedError when the database has migrations that this version doesn't know, or the role may not make them
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  // A migration may take long, so its connection has no other timeout.
  const connection = openDedicated(databaseUrl, {
    applicationName: 'company-directory migration',
    lockTimeoutMs: 60 * SECOND,
  });
  try {
    return await connection.begin(applyMissing);
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

async function applyMissing(sql: Transaction): Promise<string[]> {
  await sql`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`;
  await sql`
    CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`;
  const applied = await sql<{ name: string }[]>`SELECT name FROM schema_migrations`;
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
  const missing = new Set(files.map((file) => file.slice(0, -'.sql'.length)));
  const unknown = applied.map(({ name }) => name).filter((name) => !missing.delete(name));
  if (unknown.length > 0) {
    throw new RefusedError(
      `the database was migrated by a newer version (${unknown.join(', ')}): start that one`,
    );
  }
  for (const name of missing) {
    await sql.unsafe(await Bun.file(join(MIGRATIONS, `${name}.sql`)).text());
    await sql`INSERT INTO schema_migrations (name) VALUES (${name})`;
  }
  return [...missing];
}
