import { afterAll, expect, test } from 'bun:test';
import { type AddressInfo, createServer } from 'node:net';
import { connectPostgres, type Sql, type Transaction } from '../../../src/platform/postgres/connect.ts';
import { openDedicated } from '../../../src/platform/postgres/dedicated.ts';
import { withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { createTestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const database = await createTestDatabase('connections');
const sql = connectPostgres(database.url, { max: 1 });
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await database.drop();
});

/** Ends the pool's one connection from the side of Postgres, as a restart does. */
async function terminate(pid: number): Promise<void> {
  await database.sql`SELECT pg_terminate_backend(${pid}, 5000)`;
}

async function pidOf(of: Sql | Transaction = sql): Promise<number> {
  const [row] = await of<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return row!.pid;
}

/** Waits until a connection's statement has begun to sleep. */
const untilAsleep = (pid: number) =>
  until('the statement', async () => {
    const [row] = await database.sql`
      SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND wait_event = 'PgSleep'`;
    return row !== undefined;
  });

test('the first query after a connection that was lost in the middle of one succeeds', async () => {
  const pid = await pidOf();
  const lost = sql`SELECT pg_sleep(10)`.catch((error) => error.code);
  await untilAsleep(pid);
  await terminate(pid);
  expect(await lost).toBe('CONNECTION_CLOSED');
  expect(await pidOf()).not.toBe(pid);
});

test('a transaction whose connection is lost fails none of those who wait for the next one', async () => {
  const pid = await pidOf();
  const lost = sql
    .begin(async (transaction) => {
      await transaction`SELECT pg_sleep(10)`;
    })
    .catch((error) => error.code);
  await untilAsleep(pid);
  const waiting = [1, 2, 3].map((n) =>
    sql`SELECT ${n}::int AS n`.then(
      ([row]) => row!.n,
      (error) => error.code,
    ),
  );
  await terminate(pid);
  expect(await lost).toBe('CONNECTION_CLOSED');
  expect(await Promise.all(waiting)).toEqual([1, 2, 3]);
});

test('a connection whose query was given up while it was made serves the next one', async () => {
  const pool = connectPostgres(database.url, { max: 1 });
  const givenUp = pool`SELECT 1`.execute();
  const outcome = givenUp.catch((error) => error.code);
  givenUp.cancel();
  expect(await outcome).toBe('57014');
  expect(await withTimeout(pidOf(pool), 2000, 'the pool')).toBeNumber();
  await pool.end({ timeout: 5 });
});

test('a transaction whose connection is lost while it waits for something else stores nothing', async () => {
  await database.sql`CREATE TABLE stored (n int)`;
  const transaction = sql.begin(async (transaction) => {
    await transaction`INSERT INTO stored VALUES (1)`;
    await terminate(await pidOf(transaction));
    await until('another connection', () =>
      sql`SELECT 1`.then(
        () => true,
        () => false,
      ),
    );
    await expect((async () => await transaction`INSERT INTO stored VALUES (2)`)()).rejects.toThrow(
      'CONNECTION_CLOSED',
    );
    ended.resolve();
  });
  const ended = Promise.withResolvers<void>();
  await expect(transaction).rejects.toThrow('CONNECTION_CLOSED');
  await ended.promise;
  expect([...(await database.sql`SELECT n FROM stored`)]).toEqual([]);
});

test('a host that accepts connections and ends them fails the query at once, and is asked with pauses', async () => {
  const attemptsAtMs: number[] = [];
  const server = createServer((socket) => {
    attemptsAtMs.push(performance.now());
    socket.on('error', () => {});
    socket.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  const pool = connectPostgres(`postgres://user@127.0.0.1:${port}/name`, { max: 1 });
  for (let query = 0; query < 3; query += 1) {
    await expect((async () => await pool`SELECT 1`)()).rejects.toThrow('CONNECTION_CLOSED');
  }
  expect(attemptsAtMs).toHaveLength(3);
  const [first, , third] = attemptsAtMs;
  expect(third! - first!).toBeGreaterThan(400);
  await pool.end({ timeout: 0 });
  server.close();
});

test('a connection of a pool ends after ten minutes, and a dedicated one never', async () => {
  const dedicated = openDedicated(database.url, {});
  expect([sql, dedicated].map(({ options }) => options.max_lifetime)).toEqual([600, null]);
  await dedicated.end();
});

test('every session but a dedicated one ends by itself when it is idle in a transaction for 30 s, also without other limits', async () => {
  const limitOf = async (of: Sql) => {
    const [row] = await of`SHOW idle_in_transaction_session_timeout`;
    return row!.idle_in_transaction_session_timeout;
  };
  // As commands open their pool.
  expect(await limitOf(sql)).toBe('30s');
  const dedicated = openDedicated(database.url, {});
  expect(await limitOf(dedicated)).toBe('0');
  await dedicated.end();
});
