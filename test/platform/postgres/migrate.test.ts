import { afterEach, describe, expect, mock, spyOn, test } from 'bun:test';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { migrate } from '../../../src/platform/postgres/migrate.ts';
import { runCommand } from '../../support/command.ts';
import { createEmptyDatabase } from '../../support/database.ts';

afterEach(() => {
  mock.restore();
});

/** Until the mocks are restored, this version has another text in the migrations whose name contains `part`. */
function changeFile(part: string, change: (text: string) => string): void {
  const readFile = Bun.file;
  spyOn(Bun, 'file').mockImplementation(((path: string) => {
    const file = readFile(path);
    return path.includes(part) ? { text: () => file.text().then(change) } : file;
  }) as typeof Bun.file);
}

test('a connection that is lost in the middle leaves nothing, and the next process applies all', async () => {
  const { url, drop } = await createEmptyDatabase('migrate');
  const sql = connectPostgres(url, { max: 1 });
  changeFile('0003_', (text) => `SELECT pg_terminate_backend(pg_backend_pid());\n${text}`);
  await expect(migrate(url)).rejects.toThrow();
  mock.restore();
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

describe('a database of another version is refused in one line, and nothing in it changes', () => {
  const OTHERS: Record<string, (sql: Sql) => PromiseLike<unknown>> = {
    'a migration that this version does not have': (sql) =>
      sql`INSERT INTO schema_migrations (name, sha256) VALUES ('0999_other', '')`,
    'a migration of another content': (sql) =>
      sql`UPDATE schema_migrations SET sha256 = repeat('0', 64) WHERE name LIKE '0001%'`,
  };

  test.each(Object.entries(OTHERS))('%s', async (_, make) => {
    const { url, drop } = await createEmptyDatabase('other_version');
    await migrate(url);
    const sql = connectPostgres(url, { max: 1 });
    await make(sql);
    const stored = () => sql`SELECT * FROM schema_migrations ORDER BY name`.then((rows) => [...rows]);
    const before = await stored();
    const { code, stdout, stderr } = await runCommand({ DATABASE_URL: url }, 'account', 'list');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^error: the database is of another version \(.+\): start that version, or let DATABASE_URL name an empty database\n$/,
    );
    expect(await stored()).toEqual(before);
    await sql.end({ timeout: 5 });
    await drop();
  });

  test('a migration that was edited since', async () => {
    const { url, drop } = await createEmptyDatabase('edited');
    await migrate(url);
    changeFile('0002_', (text) => `${text}\n-- edited`);
    await expect(migrate(url)).rejects.toThrow(
      'is of another version (its migration 0002_companies differs)',
    );
    await drop();
  });
});
