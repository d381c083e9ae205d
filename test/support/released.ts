import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { readMigrations } from '../../src/platform/postgres/migrate.ts';
import { createEmptyDatabase } from './database.ts';

/** The last migration of the release before this one. */
const LAST_OF_RELEASE = '0007_connections';

/** Creates a database with the tables of 0.1.0; `migrate` makes it one of this version. */
export async function createReleasedDatabase(name: string) {
  const { url, drop } = await createEmptyDatabase(name);
  const sql = connectPostgres(url, { max: 4, applicationName: 'test of an upgrade' });
  await sql`
    CREATE TABLE schema_migrations (
      name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;
  for (const [migration, { text, sha256 }] of await readMigrations()) {
    if (migration > LAST_OF_RELEASE) break;
    await sql.begin(async (sql) => {
      await sql.unsafe(text);
      await sql`INSERT INTO schema_migrations (name, sha256) VALUES (${migration}, ${sha256})`;
    });
  }
  return {
    url,
    sql,
    async drop() {
      await sql.end({ timeout: 5 });
      await drop();
    },
  };
}
