import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

let database: { url: string; drop(): Promise<void> };
let sql: Sql;
beforeAll(async () => {
  database = await createEmptyDatabase('migrate');
  sql = connectPostgres(database.url, { max: 4 });
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await database.drop();
});

const migrations = () => sql`
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'company-directory migration'`;

test('a process whose connection is lost between two migrations goes on after another process has applied the rest', async () => {
  const readFile = Bun.file;
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const files = spyOn(Bun, 'file').mockImplementation(((path: string) => {
    const file = readFile(path);
    if (!path.includes('0003_')) return file;
    files.mockRestore();
    reached.resolve();
    return { text: () => gate.promise.then(() => file.text()) };
  }) as typeof Bun.file);
  const first = migrate(database.url);
  await reached.promise;
  await sql`SELECT pg_terminate_backend(pid) FROM (${migrations()}) AS open`;
  await until('its end', async () => (await migrations()).length === 0);
  const second = await migrate(database.url);
  gate.resolve();
  const applied = [...(await first), ...second].toSorted();
  const names = (await sql<{ name: string }[]>`SELECT name FROM schema_migrations ORDER BY name`).map(
    ({ name }) => name,
  );
  expect(names.length).toBeGreaterThan(3);
  expect(applied).toEqual(names);
});

test('two processes that migrate at once apply each migration once', async () => {
  const { url, drop } = await createEmptyDatabase('migrate_twice');
  const applied = (await Promise.all([migrate(url), migrate(url)])).flat();
  expect(applied.length).toBeGreaterThan(3);
  expect(new Set(applied).size).toBe(applied.length);
  await drop();
});
