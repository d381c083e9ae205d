import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { batchesOf, removeInParts } from '../../../src/platform/postgres/batches.ts';
import { connectPostgres, type Sql, type Transaction } from '../../../src/platform/postgres/connect.ts';
import { copyInto, copyOut } from '../../../src/platform/postgres/copy.ts';
import { openDedicated } from '../../../src/platform/postgres/dedicated.ts';
import { withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { createTestDatabase } from '../../support/database.ts';
import { waitingForLock } from '../../support/locks.ts';

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

let connection: Sql;
beforeEach(async () => {
  connection = openDedicated(database.url, {});
  await database.sql`CREATE TABLE copied (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED)`;
});
afterEach(async () => {
  await connection.end({ timeout: 1 });
  await database.sql`DROP TABLE copied`;
});

const rows = async () => [...(await database.sql`SELECT n FROM copied ORDER BY n`)].map(({ n }) => n);

test('a copy that Postgres refuses when it has every row fails with its reason, and the connection goes on', async () => {
  const copy = await copyInto(connection, 'copied');
  await copy.write('1\n1\n');
  await expect(copy.finish()).rejects.toThrow('duplicate key value');
  expect([...(await connection`SELECT 3 AS n`)]).toEqual([{ n: 3 }]);
  expect(await rows()).toEqual([]);
});

test('a copy that fails at once, in either direction, fails with its reason', async () => {
  const read = Array.fromAsync(
    await copyOut(connection, 'SELECT 1 / (n - 1) FROM generate_series(1, 2) AS n'),
  );
  await expect(read).rejects.toThrow('division by zero');
  // Postgres refuses a table of an earlier transaction once it has let the rows come.
  const copying = copyInto(connection, 'copied', 'FREEZE');
  // It is sent in this turn, and both answers are there when this process reads again.
  for (let turn = 0; turn < 10; turn += 1) await null;
  Bun.sleepSync(100);
  const write = copying.then((copy) => copy.writeBytes(Buffer.from('1\n')));
  await expect(write).rejects.toThrow('cannot perform COPY FREEZE');
});

test('a copy to us that fills its buffer with its last rows leaves a connection that goes on', async () => {
  // About one size in five pauses the socket at the end.
  for (const [rows, isSlow] of Array.from({ length: 60 }, (_, n) => [50 * (1 + (n % 30)), n < 30] as const)) {
    const copy = await connection
      .unsafe(`COPY (SELECT repeat('x', 100) FROM generate_series(1, ${rows})) TO STDOUT`)
      .readable();
    if (isSlow) await Bun.sleep(20);
    let read = 0;
    for await (const _ of copy) read += 1;
    expect(read).toBe(rows);
    expect([...(await withTimeout(connection`SELECT 3 AS n`, 2000, 'Postgres'))]).toEqual([{ n: 3 }]);
  }
});

test.each([
  ['is cancelled', 'pg_cancel_backend', '57014'],
  ['loses its connection', 'pg_terminate_backend', 'CONNECTION_CLOSED'],
])('a copy that %s when it has every row fails', async (_, end, code) => {
  await database.sql.unsafe(`
    CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(7205440332); RETURN NULL; END $$;
    CREATE TRIGGER waits AFTER INSERT ON copied FOR EACH STATEMENT EXECUTE FUNCTION wait_for_test()`);
  const [{ pid } = { pid: 0 }] = await connection<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const outcome = await database.sql.begin(async (sql) => {
    await sql`SELECT pg_advisory_xact_lock(7205440332)`;
    const copy = await copyInto(connection, 'copied');
    await copy.write('1\n');
    const finished = copy.finish().then(
      () => 'finished',
      (error) => error.code,
    );
    await waitingForLock(database.sql, 1);
    await sql.unsafe(`SELECT ${end}(${pid})`);
    return finished;
  });
  await database.sql`DROP FUNCTION wait_for_test CASCADE`;
  expect(outcome).toBe(code);
  expect(await rows()).toEqual([]);
});
