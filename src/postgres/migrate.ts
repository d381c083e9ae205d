import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { messageOf, RefusedError } from '../errors.ts';
import type { Sql } from './connect.ts';
import { openDedicated } from './dedicated.ts';

const MIGRATIONS = join(import.meta.dir, 'migrations');

/** An arbitrary number of our own lock, under which one instance migrates at a time. */
const MIGRATION_LOCK = 7_205_440_331;

/**
 * Applies the missing migrations in the order of their numbers, each in its own transaction, all under one lock.
 *
 * @returns the names of those applied now, e.g. `['0001_accounts']`
 * @throws RefusedError when the database has migrations that this version doesn't know, or the role may not make them
 */
export async function migrate(sql: Sql): Promise<string[]> {
  // A migration may take long, so its connection has no timeout.
  const connection = openDedicated(sql, 'company-directory migration');
  try {
    await connection`SET lock_timeout = '60s'`;
    await connection`SELECT pg_advisory_lock(${MIGRATION_LOCK})`;
    return await applyMissing(connection);
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error;
    const { database, user } = sql.options;
    throw new RefusedError(
      `the database ${database} can't be migrated by the role ${user}: ${messageOf(error)}: check DATABASE_URL`,
      { cause: error },
    );
  } finally {
    // The lock ends with its session.
    await connection.end({ timeout: 1 });
  }
}

async function applyMissing(sql: Sql): Promise<string[]> {
  await sql`
    CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`;
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
  const known = files.map((file) => file.slice(0, -'.sql'.length));
  const rows = await sql<{ name: string }[]>`SELECT name FROM schema_migrations`;
  const seen = new Set(rows.map((row) => row.name));
  const unknown = [...seen].filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new RefusedError(
      `the database was migrated by a newer version (${unknown.join(', ')}): start that one`,
    );
  }
  const applied: string[] = [];
  for (const name of known) {
    if (seen.has(name)) continue;
    const statements = await Bun.file(join(MIGRATIONS, `${name}.sql`)).text();
    const record = `INSERT INTO schema_migrations (name) VALUES ('${name}')`;
    await sql.unsafe(`BEGIN;\n${statements}\n;${record};\nCOMMIT`).catch(async (error) => {
      await sql.unsafe('ROLLBACK');
      throw error;
    });
    applied.push(name);
  }
  return applied;
}
