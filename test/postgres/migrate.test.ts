import { expect, spyOn, test } from 'bun:test';
import { connectPostgres } from '../../src/postgres/connect.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createEmptyDatabase } from '../support/database.ts';

test('a connection that is lost in the middle leaves nothing, and the next process applies all', async () => {
  const { url, drop } = await createEmptyDatabase('migrate');
  const sql = connectPostgres(url, { max: 1 });
  const readFile = Bun.file;
  const files = spyOn(Bun, 'file').mockImplementation(((path: string) => {
    const file = readFile(path);
    if (!path.includes('0003_')) return file;
    files.mockRestore();
    const end = sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'company-directory migration'`;
    return { text: () => end.then(() => file.text()) };
  }) as typeof Bun.file);
  await expect(migrate(url)).rejects.toThrow();
  expect(await sql`SELECT FROM pg_class WHERE relname = 'schema_migrations'`).toHaveLength(0);
  const applied = await migrate(url);
  expect(applied.length).toBeGreaterThan(3);
  expect(await migrate(url)).toEqual([]);
  await sql.end({ timeout: 5 });
  await drop();
});

test('two processes that migrate at once apply each migration once', async () => {
  const { url, drop } = await createEmptyDatabase('migrate_twice');
  const applied = (await Promise.all([migrate(url), migrate(url)])).flat();
  expect(applied.length).toBeGreaterThan(3);
  expect(new Set(applied).size).toBe(applied.length);
  await drop();
});
