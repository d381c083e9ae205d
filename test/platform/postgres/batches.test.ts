import { afterAll, expect, test } from 'bun:test';
import { batchesOf, inPages } from '../../../src/platform/postgres/batches.ts';
import { connectPostgres, type Transaction } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';

const database = await createTestDatabase('batches');
const sql = connectPostgres(database.url, { max: 1 });
afterAll(async () => {
  await sql.end();
  await database.drop();
});

const all = async (sql: Transaction, query: Parameters<typeof batchesOf>[1]) =>
  Array.fromAsync(batchesOf<Record<string, unknown>>(sql, query));

test('queries with other columns one after another on a connection each get their own rows, in batches', async () => {
  for (let round = 0; round < 2; round += 1)
    await sql.begin(async (sql) => {
      const wide = await all(
        sql,
        sql`SELECT n AS a, n::bigint AS b, 'x' AS c FROM generate_series(1, 450) AS n`,
      );
      expect(wide.map(({ length }) => length)).toEqual([200, 200, 50]);
      expect({ ...wide.flat().at(-1) }).toEqual({ a: 450, b: 450, c: 'x' });
      expect(await all(sql, sql`SELECT 'y' AS only WHERE false`)).toEqual([]);
      expect((await all(sql, sql`SELECT 'y' AS only`)).flat().map((row) => ({ ...row }))).toEqual([
        { only: 'y' },
      ]);
    });
});

test('pages go on behind the last row until there is none', async () => {
  const asked: (number | undefined)[] = [];
  const pages = inPages<number>(async (last) => {
    asked.push(last);
    return last === undefined ? [1, 2] : last === 2 ? [3] : [];
  });
  expect(await Array.fromAsync(pages)).toEqual([[1, 2], [3]]);
  expect(asked).toEqual([undefined, 2, 3]);
});
