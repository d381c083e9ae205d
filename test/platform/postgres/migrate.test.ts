import { describe, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { migrate, readMigrations } from '../../../src/platform/postgres/migrate.ts';
import { ROOT, runCommand } from '../../support/command.ts';
import { createEmptyDatabase } from '../../support/database.ts';

/** Each migration of a release, with its SHA-256. */
const RELEASED: Record<string, string> = {
  '0001_accounts.sql': '2d8357ccd7db6caea3674503d15983666bc956ff3c89459fbd802966830242e3',
  '0002_companies.sql': 'dba7a4c529d05ae11df3c34edd622d48dfdd2c4b30c3db28343afe871bf0b6a3',
  '0003_debts.sql': 'f85419fe8d87d928b27dd5e5071fc1006f8e5ce1972c07a60c156e035439a024',
  '0004_dashboard.sql': '93e21454b2c2123b0d679c30e98419f9b2d629234f7408ec95a1272157c45068',
  '0005_runs.sql': '9cb83b9490c21aac3c7423068531c4de8f4c11bab552ae74c5b1e38e1fbe2752',
  '0006_activity.sql': '49ac746ea574e169bb5c63391446b6937f9de95e39f878a4f7f73f9125d24745',
  '0007_connections.sql': '55f630e9dea44aab0b71a5256b2bb32451458d08253e9f9ee94abca4a82dd91a',
  '0008_daily_counts.sql': '9bde5d1b354e80ea8f933f54c6ac19768fb3ab0afe771442758fc8590de90e94',
  '0009_refresh_generations.sql': 'aa404339a106a9f73578279a776e21b53635c7abbbc8cdacabda169ba4ed17cd',
  '0010_keyed_requests.sql': '72332d5277f5712275ff2c2b3924e3c4935403b3b78b73151f2aee6d94e0bbbe',
  '0011_key_shares.sql': 'f7e29620ce862a771a37ee1793d47c70368fa24f43865633aa5017f0a931c4b7',
  '0012_file_hashes.sql': 'bd9e5865e97b4825990241595ade47f3e2b09c0e18b37e9b7204f6ef615a2009',
  '0013_activity_reasons.sql': 'bf551a25609ea81e5baaf98493340614ce01e9dda4f4fd7c751d9f3e0b8dfb64',
  '0014_counters.sql': 'ec5e6a3fad2dc6aa4c5b5215fcb1a8401ce050572f6c6c02c55a600537260c8a',
  '0015_cheaper_writes.sql': '8f5d742de3b58efcddcae5a8a9a6bfc2e385896d1aee4d29d9d0ec107d5addd3',
};

test.each(Object.entries(RELEASED))(
  '%s is released, so it never changes: a change is a new migration',
  async (file, sha256) => {
    expect((await readMigrations()).get(file.replace('.sql', ''))?.sha256).toBe(sha256);
  },
);

test('every migration of a release is pinned: all of them while the changelog has no unreleased version', async () => {
  const files = [...(await readMigrations()).keys()].map((name) => `${name}.sql`);
  const changelog = await Bun.file(join(ROOT, 'CHANGELOG.md')).text();
  const released = Object.keys(RELEASED);
  const isReleased = !/^## \S+ – unreleased/m.test(changelog);
  expect(isReleased ? files : files.slice(0, released.length)).toEqual(released);
});

test('the migrations of all wings are numbered from 1, without a gap', async () => {
  const numbers = [...(await readMigrations()).keys()].map((name) => Number(name.slice(0, 4)));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  const elsewhere = [...new Glob('**/*.sql').scanSync(join(ROOT, 'src'))].filter(
    (path) => !/^\w+\/migrations\/\d{4}_\w+\.sql$/.test(path),
  );
  expect(elsewhere).toEqual([]);
});

test('a connection that is lost in the middle leaves nothing, and the next process applies all', async () => {
  await using database = await createEmptyDatabase('migrate');
  const { url, sql } = database;
  const readFile = Bun.file;
  const end = (text: string) => `SELECT pg_terminate_backend(pg_backend_pid());\n${text}`;
  const changed = spyOn(Bun, 'file').mockImplementation(((path: string) => {
    const file = readFile(path);
    return path.includes('0003_') ? { text: () => file.text().then(end) } : file;
  }) as typeof Bun.file);
  await expect(migrate(url).finally(() => changed.mockRestore())).rejects.toThrow();
  expect(await sql`SELECT FROM pg_class WHERE relname = 'schema_migrations'`).toHaveLength(0);
  const applied = await migrate(url);
  expect(applied.length).toBeGreaterThan(3);
  expect(await migrate(url)).toEqual([]);
});

test('two processes that migrate at once apply each migration once', async () => {
  await using database = await createEmptyDatabase('migrate_twice');
  const { url } = database;
  const applied = (await Promise.all([migrate(url), migrate(url)])).flat();
  expect(applied.length).toBeGreaterThan(3);
  expect(new Set(applied).size).toBe(applied.length);
});

describe('a database of another version is refused in one line, and nothing in it changes', () => {
  const OTHERS: Record<string, (sql: Sql) => PromiseLike<unknown>> = {
    'a migration that this version does not have': (sql) =>
      sql`INSERT INTO schema_migrations (name, sha256) VALUES ('0999_other', '')`,
    'a migration of another content': (sql) =>
      sql`UPDATE schema_migrations SET sha256 = repeat('0', 64) WHERE name LIKE '0001%'`,
  };

  test.each(Object.entries(OTHERS))('%s', async (_, make) => {
    await using database = await createEmptyDatabase('other_version');
    const { url, sql } = database;
    await migrate(url);
    await make(sql);
    const stored = () => sql`SELECT * FROM schema_migrations ORDER BY name`.then((rows) => [...rows]);
    const before = await stored();
    const { code, stdout, stderr } = await runCommand({ DATABASE_URL: url }, 'account', 'list');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^error: the database is of another version \(.+\): start that version, or let DATABASE_URL name an empty database\n$/,
    );
    expect(await stored()).toEqual(before);
  });
});
