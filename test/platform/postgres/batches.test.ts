import { afterAll, expect, test } from 'bun:test';
import { batchesOf, inPages, removeInParts } from '../../../src/platform/postgres/batches.ts';
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

test('rows are removed in parts of a bounded size, and one that another statement has locked stays', async () => {
  await sql.unsafe(`
    CREATE TABLE removed_rows (n integer PRIMARY KEY);
    CREATE TABLE removals (rows integer);
    CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO removals SELECT count(*) FROM removed; RETURN NULL; END $$;
    CREATE TRIGGER noted AFTER DELETE ON removed_rows REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION note_removal();
    INSERT INTO removed_rows SELECT generate_series(1, 26)`);
  await database.sql.begin(async (locking) => {
    await locking`SELECT FROM removed_rows WHERE n = 3 FOR UPDATE`;
    await removeInParts(sql, 'removed_rows', sql`n <> 26`, 10);
  });
  expect((await sql`SELECT n FROM removed_rows ORDER BY n`).map(({ n }) => n)).toEqual([3, 26]);
  expect((await sql`SELECT rows FROM removals`).map(({ rows }) => rows)).toEqual([10, 10, 4]);
});
