import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { openDedicated } from '../../src/postgres/dedicated.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { withTimeout } from '../../src/runtime/timeout.ts';
import { createTestDatabase, postgresUrl, type TestDatabase } from '../support/database.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';

// Without the limit each of these tests would run into its timeout.
const STATEMENT_TIMEOUT_MS = 200;
/** With the margin of src/postgres/connect.ts. */
const LIMIT_MS = STATEMENT_TIMEOUT_MS + 3000;

let database: TestDatabase;
let proxy: TcpProxy;
beforeAll(async () => {
  database = await createTestDatabase('silence');
  proxy = await startProxy(postgresUrl);
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

const connect = (max: number) =>
  connectPostgres(proxy.url(database.url), { max, statementTimeoutMs: STATEMENT_TIMEOUT_MS });

/** A pool all of whose connections are open. */
async function openAll(max: number): Promise<Sql> {
  const sql = connect(max);
  const reserved = await Promise.all(Array.from({ length: max }, () => sql.reserve()));
  for (const connection of reserved) connection.release();
  return sql;
}

test('a pool whose connections are all gone without a word works again after the limit', async () => {
  const sql = await openAll(3);
  proxy.mute();
  const lost = await Promise.all(
    Array.from({ length: 30 }, () => sql`SELECT 1`.catch((error) => error.code)),
  );
  expect(new Set(lost)).toEqual(new Set(['CONNECTION_CLOSED']));
  await Promise.all(Array.from({ length: 30 }, () => sql`SELECT 1`));
  await sql.end({ timeout: 5 });
});

test('so does one that is asked again and again meanwhile', async () => {
  const sql = await openAll(3);
  proxy.mute();
  for (let isBack = false; !isBack; ) {
    isBack = await withTimeout(sql`SELECT 1`, 50, 'Postgres').then(
      () => true,
      (error) => {
        if (error.code !== 'CONNECTION_CLOSED')
          expect(error.message).toMatch(/^Postgres (did not answer|answered while)/);
        return false;
      },
    );
  }
  await sql.end({ timeout: 5 });
});

test('connections that were idle when their host went are closed for being idle, and not waited for longer', async () => {
  const sql = await openAll(3);
  proxy.mute();
  await sql.end();
});

test('a server that lets in and then says nothing fails the query that it was asked for', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // AuthenticationOk and ReadyForQuery: the next question, for the server's types, is postgres.js's own.
    socket.once('data', () => socket.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  const sql = connectPostgres(`postgres://user@127.0.0.1:${port}/name`, {
    max: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  expect(await sql`SELECT 1`.catch((error) => error.code)).toBe('CONNECTION_CLOSED');
  await sql.end({ timeout: 0 });
  for (const socket of sockets) socket.destroy();
  server.close();
});

test('nobody is given up who has nothing to say: listeners, dedicated connections, migrations, transactions', async () => {
  const sql = connect(3);
  const dedicated = openDedicated(sql, 'test dedicated');
  const heard = Promise.withResolvers<string>();
  const pids: number[] = [];
  const { unlisten, state } = await sql.listen('silence', heard.resolve);
  const { promise: isLocked, resolve: lock } = Promise.withResolvers<void>();
  const locked = database.sql.begin(async (transaction) => {
    await transaction`SELECT pg_advisory_xact_lock(7205440331)`;
    lock();
    await Bun.sleep(LIMIT_MS + 1000);
  });
  const transaction = sql.begin(async (transaction) => {
    for (const pauseMs of [LIMIT_MS + 1000, 0]) {
      const [row] = await transaction<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
      pids.push(row!.pid);
      await Bun.sleep(pauseMs);
    }
  });
  await Promise.all([
    dedicated`SELECT pg_sleep(${LIMIT_MS / 1000 + 1})`,
    isLocked.then(() => migrate(sql)),
    locked,
    transaction,
  ]);
  expect(pids[0]).toBe(pids[1]!);
  await sql.notify('silence', 'heard');
  expect(await heard.promise).toBe('heard');
  const [listener] = await database.sql`SELECT 1 FROM pg_stat_activity WHERE pid = ${state.pid}`;
  expect(listener).toBeDefined();
  await unlisten();
  await dedicated.end({ timeout: 5 });
  await sql.end({ timeout: 5 });
});

test('a process that was busy for longer than the limit takes no server for gone', async () => {
  const sql = await openAll(1);
  const answer = sql`SELECT pg_backend_pid() AS pid, pg_sleep(0.1)`.execute();
  await database.sql`SELECT 1`; // meanwhile the query is sent
  Bun.sleepSync(LIMIT_MS + 500);
  const [row] = await answer;
  const [next] = await sql`SELECT pg_backend_pid() AS pid`;
  expect(next!.pid).toBe(row!.pid);
  await sql.end({ timeout: 5 });
});
