import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { RefusedError } from '../../../src/platform/errors.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { openDedicated } from '../../../src/platform/postgres/dedicated.ts';
import { isSessionLost, watchSession } from '../../../src/platform/postgres/session-watch.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startProxy, type TcpProxy } from '../../support/proxy.ts';

let proxy: TcpProxy;
let sql: Sql;
const database = await createTestDatabase('watch');
afterAll(() => database.drop());
beforeEach(async () => {
  proxy = await startProxy(database.url);
  sql = connectPostgres(proxy.url(database.url));
});
afterEach(async () => {
  proxy.up();
  await sql.end({ timeout: 0 });
  await proxy.close();
});

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
