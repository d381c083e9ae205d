/** Each statement gets its own answer, whatever became of the statements before it on the same connection. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';

const database = await createTestDatabase('next_answer');
let sql: Sql;
beforeEach(async () => {
  sql = connectPostgres(database.url, { max: 1 });
  // Known to the connection, so that it sends the parameter at once.
  await sql`SELECT ${'a'}::text AS known`;
});
afterEach(() => sql.end({ timeout: 0 }));
afterAll(() => database.drop());

/** Can't be sent, as an invalid date can't. */
const unsendable = {
  toString() {
    throw new Error('unsendable');
  },
} as unknown as string;

const upTo = (n: number) => sql`SELECT i, 100 / (${n} - i) AS quotient FROM generate_series(1, 100) i`;

const FAILURES: Record<string, () => PromiseLike<unknown>> = {
  'an error before any row': () => upTo(1),
  'an error amid the rows': () => upTo(50),
  'an error amid the rows of a simple query': () =>
    sql.unsafe('SELECT 1 AS n; SELECT 1 / n AS q FROM (VALUES (1), (0)) v (n)'),
  'a statement timeout amid the rows': () =>
    sql.begin(async (sql) => {
      await sql`SET LOCAL statement_timeout = '50ms'`;
      await sql`SELECT i, pg_sleep(0.001) FROM generate_series(1, 10000) i`;
    }),
  'a syntax error': () => sql`SELECT ${1}::int FROM`,
  'a parameter that can not be sent, of a new statement': () => sql`SELECT ${unsendable}::text AS new`,
  'a parameter that can not be sent, of a known statement': () => sql`SELECT ${unsendable}::text AS known`,
  'an undefined parameter': () => sql`SELECT ${undefined as unknown as string}::text AS known`,
  'too many parameters': () => sql.unsafe('SELECT 1', Array(70_000).fill(1)),
};

const firstColumns = async (rows: PromiseLike<readonly object[]>[]) =>
  (await Promise.all(rows)).map((rows) => rows.map((row) => Object.values(row)[0]));

describe.each(Object.entries(FAILURES))('after %s', (_, fail) => {
  test('the next statement gets its own answer', async () => {
    await expect((async () => await fail())()).rejects.toThrow();
    expect(await firstColumns([sql`SELECT 5 AS n`, sql`SELECT 6 AS n`])).toEqual([[5], [6]]);
  });

  test('the statements in flight with it get theirs', async () => {
    const before = sql`SELECT 1 AS n, pg_sleep(0.02)`.execute();
    const failed = expect((async () => await fail())()).rejects.toThrow();
    expect(await firstColumns([before, sql`SELECT 2 AS n`, sql`SELECT 3 AS n`])).toEqual([[1], [2], [3]]);
    await failed;
    expect(await firstColumns([sql`SELECT 5 AS n`, sql`SELECT 6 AS n`])).toEqual([[5], [6]]);
  });
});
