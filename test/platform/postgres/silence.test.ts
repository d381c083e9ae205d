import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { createCompanyReader } from '../../../src/companies/lookup/lookup-store.ts';
import { createAuthenticator } from '../../../src/metering/keys/authenticate.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { RefusedError } from '../../../src/platform/errors.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { openDedicated } from '../../../src/platform/postgres/dedicated.ts';
import { createPools, type Pools } from '../../../src/platform/postgres/pools.ts';
import { isSessionLost, watchSession } from '../../../src/platform/postgres/session-watch.ts';
import { withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { createHealth } from '../../../src/service/health.ts';
import { storeProbes } from '../../../src/service/probes.ts';
import { createTestDatabase, postgresUrl } from '../../support/database.ts';
import { startProxy, type TcpProxy } from '../../support/proxy.ts';
import { searchOf } from '../../support/search-entries.ts';
import { until } from '../../support/until.ts';

let proxy: TcpProxy;
let pools: Pools;
let silences: number;
const database = await createTestDatabase('silence');
beforeEach(async () => {
  proxy = await startProxy(postgresUrl);
  silences = 0;
  pools = createPools(proxy.url(database.url), () => {
    silences += 1;
  });
});
afterEach(async () => {
  await pools.close({ timeout: 1 });
  await proxy.close();
});
afterAll(() => database.drop());

const canaries = () => database.sql<{ pid: number; askedAt: string }[]>`
  SELECT pid, query_start::text AS "askedAt" FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'company-directory canary'`;

/** A pool with so many open connections, beside the canary's. */
async function openAll(max: number, statementTimeoutMs = 2000): Promise<Sql> {
  const sql = pools.open({ max, statementTimeoutMs });
  const questions = new Set<string>();
  // The first one has been answered when the second one is asked.
  await until('two questions', async () => {
    for (const { askedAt } of await canaries()) questions.add(askedAt);
    return questions.size > 1;
  });
  const reserved = await Promise.all(Array.from({ length: max }, () => sql.reserve()));
  for (const connection of reserved) connection.release();
  return sql;
}

/** Whether Postgres answers within the time of a request. */
const isAnswered = (query: PromiseLike<unknown>) =>
  withTimeout(query, 1500, 'Postgres').then(
    () => true,
    () => false,
  );

const backendOf = async (sql: Sql) => (await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`)[0]!.pid;

test('24 connections that are gone without a word fail no more questions than two do', async () => {
  const sql = await openAll(24);
  proxy.mute();
  // Each question waits for 1.5 s. Without the canary each of them meets the next lost connection.
  let failures = 0;
  while (!(await isAnswered(sql`SELECT 1`))) failures += 1;
  expect(failures).toBeLessThanOrEqual(2);
  expect(silences).toBe(1);
});

test('a statement on a live connection is answered while its pool is replaced, and listeners stay', async () => {
  const sql = await openAll(2);
  const heard = Promise.withResolvers<string>();
  proxy.mute();
  // Both connect now.
  const { unlisten } = await sql.listen('silence', heard.resolve);
  const other = pools.open({ max: 1, statementTimeoutMs: 2000 });
  const answer = other`SELECT pg_sleep(1.8), 'answered' AS text`.execute();
  await until('the silence', () => silences === 1);
  const [row] = await answer;
  expect(row!.text).toBe('answered');
  await until('a new pool', () => isAnswered(sql.notify('silence', 'heard')));
  expect(await heard.promise).toBe('heard');
  await unlisten();
});

test('a server that freezes for seconds is waited for, answers again, and gets no second set of connections', async () => {
  // A statement in flight could keep its connection for this long, which the wait at the end is too short for.
  const sql = await openAll(8, 60_000);
  proxy.hang();
  await until('the silence', () => silences === 1);
  expect(await sql`SELECT 1`.catch(({ code }) => code)).toBe('CONNECT_TIMEOUT');
  proxy.up();
  await until('an answer', () => isAnswered(sql`SELECT 1`));
  expect(silences).toBe(1);
  // Postgres would refuse new connections if each silence left a whole pool open for seconds.
  const idle = () => database.sql`
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'company-directory'`;
  await until('the end of the replaced connections', async () => (await idle()).length <= 2);
});

test('connections are replaced after the canary has lost its own', async () => {
  const sql = await openAll(1);
  const before = await backendOf(sql);
  const [canary] = await canaries();
  await database.sql`SELECT pg_terminate_backend(${canary!.pid})`;
  await until('another connection', async () => (await backendOf(sql)) !== before);
  expect(silences).toBe(0);
});

test('a server that lets in and then says nothing holds no connection for good', async () => {
  const greeted = new Set<Bun.Socket>();
  // Answers AuthenticationOk and ReadyForQuery, then falls silent at postgres.js's query for the server's types.
  const data = (socket: Bun.Socket) => {
    if (!greeted.has(socket)) socket.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1'));
    greeted.add(socket);
  };
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data } });
  const silent = createPools(`postgres://user@127.0.0.1:${server.port}/name`);
  silent.open({ max: 1, statementTimeoutMs: 100 });
  await until('a second canary', () => greeted.size === 2);
  await silent.close({ timeout: 0 });
  server.stop(true);
});

test('a process that was busy takes no server for gone', async () => {
  const sql = await openAll(1);
  const before = await backendOf(sql);
  for (let i = 0; i < 2; i += 1) {
    await Bun.sleep(300);
    Bun.sleepSync(1000);
  }
  expect(await backendOf(sql)).toBe(before);
  expect(silences).toBe(0);
});

/** Work that gives up waiting for a connection of a Postgres that hangs. */
const GIVEN_UP: Record<string, (sql: Sql) => Promise<void>> = {
  'the probe of readiness': async (sql) => {
    const probes = storeProbes({ sql, elasticsearch: null, search: searchOf(database.sql) }, () => ({
      warning: null,
    }));
    const health = createHealth(probes, () => false, createLogTo({ write: () => {} }));
    expect((await health.ready()).status).toBe(503);
  },
  'the look for a key': async (sql) => {
    const authenticator = await createAuthenticator(sql);
    await expect(authenticator.authenticate(generateSecret())).rejects.toThrow('did not answer');
    await authenticator.close();
  },
  'the look for a record': async (sql) => {
    await expect(createCompanyReader(sql, 60).findCompany('500002576')).rejects.toThrow('did not answer');
  },
};

test.each(Object.entries(GIVEN_UP))(
  '%s takes its statement back, so that it never runs later',
  async (_, work) => {
    proxy.hang();
    const pool = connectPostgres(proxy.url(database.url), { max: 1 });
    const queries: { cancelled: unknown }[] = [];
    const kept = new Proxy(pool, {
      apply(target, self, parameters) {
        const query = Reflect.apply(target, self, parameters);
        queries.push(query);
        return query;
      },
      // Notifications are heard of a Postgres that lives.
      get: (target, name) => Reflect.get(name === 'listen' ? database.sql : target, name),
    });
    await work(kept);
    // The caller may get its answer a moment before.
    await until(
      'the statement taken back',
      () => queries.length > 0 && queries.every(({ cancelled }) => cancelled === true),
    );
    await pool.end({ timeout: 0 });
  },
);

// A command's session.

/** As in earnest: a connection that postgres.js opens after the pool's end closes itself. */
const OPTIONS = { idle_timeout: 1, fetch_types: false };
const QUICK = { everyMs: 30, timeoutMs: 20 };

const openWatch = () => openDedicated(proxy.url(database.url), {}, OPTIONS);

/** Watches a session of the test's own pool through the proxy. */
async function watch(pace = QUICK) {
  const session = await database.sql.reserve();
  const [row] = await session<{ pid: number; startedAt: string }[]>`
    SELECT pid, backend_start::text AS "startedAt" FROM pg_stat_activity WHERE pid = pg_backend_pid()`;
  const watched = await watchSession(openWatch, row!, pace);
  return {
    lost: watched.lost.catch((error: RefusedError) => error),
    async stop() {
      await watched.stop();
      session.release();
    },
  };
}

test('a Postgres that leaves one look after the other without an answer counts as silent', async () => {
  const pace = { everyMs: 110, timeoutMs: 100 };
  const { lost, stop } = await watch(pace);
  const hungAtMs = performance.now();
  proxy.hang();
  const error = await lost;
  expect(error).toBeInstanceOf(RefusedError);
  expect(error.message).toStartWith('Postgres has not answered for 10 s: ');
  expect(performance.now() - hungAtMs).toBeGreaterThan(3 * pace.timeoutMs);
  await stop();
});

test('looks without an answer count in a row only', async () => {
  const looks = [...'+----+----+'];
  const answer = async () => {
    if (looks.shift() === '-') throw new Error('ECONNREFUSED');
    return [{}];
  };
  const sql = Object.assign(answer, { end: async () => {} }) as unknown as Sql;
  const pace = { everyMs: 1, timeoutMs: 1000 };
  const { lost, stop } = await watchSession(() => sql, { pid: 1, startedAt: '' }, pace);
  await until('the looks', () => looks.length === 0);
  await stop();
  expect(await Promise.race([lost, 'watched'])).toBe('watched');
});

test('looks that a busy process had no time to read do not count', async () => {
  const { lost, stop } = await watch();
  proxy.hang();
  // A look begins in one turn and is given up in the next.
  for (let turn = 0; turn < 14; turn++) {
    Bun.sleepSync(300);
    await Bun.sleep(1);
  }
  expect(await Promise.race([lost, Bun.sleep(0).then(() => 'watched')])).toBe('watched');
  await stop();
});

test('the first look is made before the work: a session that is gone is known at once', async () => {
  const watched = await watchSession(openWatch, { pid: 1, startedAt: 'never' }, QUICK);
  await expect(watched.lost).rejects.toThrow('the connection to Postgres was lost');
  await watched.stop();
});

test('a connection that finds no primary means that the session is lost, and an error of a statement does not', () => {
  expect(isSessionLost(Object.assign(new Error(), { code: 'CONNECTION_DESTROYED' }))).toBe(true);
  expect(isSessionLost(Object.assign(new Error(), { code: '42P01' }))).toBe(false);
});
