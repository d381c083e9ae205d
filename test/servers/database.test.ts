import { expect, test } from 'bun:test';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { createTestDatabase, postgresUrl } from '../support/database.ts';
import { elasticsearchUrl } from '../support/elasticsearch.ts';
import { redisUrl } from '../support/redis.ts';
import { createTestIndexAlias } from '../support/search-index.ts';

async function databaseExists(url: string): Promise<boolean> {
  const sql = connectPostgres(postgresUrl, { max: 1 });
  const rows = await sql`SELECT 1 FROM pg_database WHERE datname = ${new URL(url).pathname.slice(1)}`;
  await sql.end();
  return rows.length > 0;
}

test('test databases are migrated, and what one holds the others never see', async () => {
  const [a, b] = await Promise.all([createTestDatabase('a'), createTestDatabase('b')]);
  const tables = (sql: typeof a.sql) =>
    sql<{ name: string }[]>`SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = 'public' ORDER BY table_name`;
  expect((await tables(a.sql)).length).toBeGreaterThan(3);
  await a.sql`CREATE TABLE only_here (id int)`;
  expect((await tables(a.sql)).map(({ name }) => name)).toContain('only_here');
  expect((await tables(b.sql)).map(({ name }) => name)).not.toContain('only_here');
  await Promise.all([a.drop(), b.drop()]);
  expect(await Promise.all([databaseExists(a.url), databaseExists(b.url)])).toEqual([false, false]);
});

test('dropping a test database reports connections that were left open, and still drops it', async () => {
  const database = await createTestDatabase('leak');
  const forgotten = connectPostgres(database.url, { max: 1, applicationName: 'forgetful' });
  await forgotten`SELECT 1`;
  await expect(database.drop()).rejects.toThrow('left open: forgetful (idle)');
  expect(await databaseExists(database.url)).toBe(false);
  await forgotten.end({ timeout: 1 });
});

test('a test index alias is cleaned up with its indices, and with no others', async () => {
  const [mine, other] = [createTestIndexAlias(), createTestIndexAlias()];
  const create = (index: string) => fetch(`${elasticsearchUrl}/${index}`, { method: 'PUT' });
  const exists = async (index: string) =>
    (await fetch(`${elasticsearchUrl}/${index}`, { method: 'HEAD' })).status === 200;
  for (const index of [`${mine.alias}-1`, `${mine.alias}-2`, `${other.alias}-1`]) {
    expect((await create(index)).status).toBe(200);
  }
  await mine.cleanup();
  expect(await Promise.all([`${mine.alias}-1`, `${mine.alias}-2`, `${other.alias}-1`].map(exists))).toEqual([
    false,
    false,
    true,
  ]);
  await other.cleanup();
  expect(await exists(`${other.alias}-1`)).toBe(false);
});

test('the servers are the real ones: Elasticsearch 9.4.3, Postgres 18 and Redis', async () => {
  const root = (await (await fetch(elasticsearchUrl)).json()) as { version: { number: string } };
  const sql = connectPostgres(postgresUrl, { max: 1 });
  const [row] = await sql<{ version: string }[]>`SHOW server_version`.then((rows) =>
    rows.map((each) => ({ version: Object.values(each)[0] as string })),
  );
  await sql.end();
  const redis = new Bun.RedisClient(redisUrl);
  const pong = await redis.send('PING', []);
  redis.close();
  expect(root.version.number).toBe('9.4.3');
  expect(row?.version).toMatch(/^18\./);
  expect(pong).toBe('PONG');
});
