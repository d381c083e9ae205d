/** The death of a Postgres primary under load, with a standby that commits wait for. */
import { afterAll, expect, test } from 'bun:test';
import { requireAccount } from '../../src/metering/accounts/account-store.ts';
import { readConfig } from '../../src/platform/config/config.ts';
import { codeOf } from '../../src/platform/errors.ts';
import { createLogTo } from '../../src/platform/observability/log.ts';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { withDedicated } from '../../src/platform/postgres/dedicated.ts';
import { createPools } from '../../src/platform/postgres/pools.ts';
import { openStores } from '../../src/platform/stores/stores.ts';
import { nif } from '../support/companies.ts';
import { startPostgresPair } from '../support/postgres-pair.ts';
import { startProxy } from '../support/proxy.ts';
import { storeRecord } from '../support/records.ts';
import { createCaller, PLENTY } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startService } from '../support/whole.ts';

const pair = await startPostgresPair();
const config = readConfig({
  PORT: '0',
  DATABASE_URL: pair.url,
  AUTH_SECRET: 'a'.repeat(32),
  NIF_PT_URL: 'http://127.0.0.1:9/',
  REGISTRY: 'none',
});
const service = await startService(config, { log: createLogTo({ write: () => {} }) });
const databaseUrl = config.databaseUrl!;
const sql = connectPostgres(databaseUrl, { statementTimeoutMs: 2000 });
afterAll(async () => {
  await sql.end({ timeout: 1 });
  await service.stop();
  await pair.stop();
});

const readiness = async () => (await fetch(`${service.publicUrl}/health/ready`)).status;

test('a pool that is connected to a standby finds the primary, although nobody closes its connections', async () => {
  // A balancer that keeps its connections. Postgres itself ends them, and the balancer may make them again.
  const connections = new Set<object>();
  const balancer = await startProxy(pair.standbyUrl, {
    sent: (_, connection) => void connections.add(connection),
  });
  const pools = createPools(balancer.url(pair.standbyUrl));
  const sql = pools.open({ max: 1, statementTimeoutMs: 1000 });
  const create = () =>
    sql`CREATE TABLE IF NOT EXISTS written ()`.then(
      () => 'written',
      (error) => codeOf(error),
    );
  expect(await create()).toBe('25006');
  const { size } = connections;
  await until('canaries on the standby', () => connections.size > size + 2);
  balancer.redirect(pair.url.replace(/,[^/]+/, ''));
  await until('the primary', async () => (await create()) === 'written');
  await pools.close({ timeout: 1 });
  await balancer.close();
});

test('every request of a client that repeats ends in its answer, and the books agree with the answers', async () => {
  // As long as it is a standby: an instance that reaches it alone does not start.
  const standby = readConfig({ DATABASE_URL: `${pair.standbyUrl}?target_session_attrs=primary`, PORT: '0' });
  await expect(startService(standby, { log: createLogTo({ write: () => {} }) })).rejects.toThrow(
    /^Postgres can't be reached: .*CONNECTION_DESTROYED/,
  );
  await expect(openStores(readConfig({ DATABASE_URL: pair.standbyUrl }))).rejects.toThrow(
    'DATABASE_URL names a database that only reads, as a standby does: name the primary, or all hosts with commas between them',
  );
  const { accountId, key } = await createCaller(sql, PLENTY);
  await storeRecord(sql, nif(1), 'stored');
  const paths = ['/companies?q=empresa', `/companies/${nif(1)}`];
  const statuses = new Map<string, number>();
  let isOver = false;
  let answered = 0;
  const ask = async (path: string) => {
    const answer = await fetch(`${service.publicUrl}/api/v1${path}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    const { type } = (await answer.json()) as { type?: string };
    const what = `${answer.status} ${type?.split('/').at(-1) ?? ''}`.trim();
    statuses.set(what, (statuses.get(what) ?? 0) + 1);
    return answer.status;
  };
  const clients = Array.from({ length: 6 }, async (_, client) => {
    while (!isOver) {
      while ((await ask(paths[client % 2]!)) !== 200) await Bun.sleep(100);
      answered += 1;
    }
  });
  await until('some answers', () => answered > 200);
  expect(await readiness()).toBe(200);
  const { promise: killed, resolve: kill } = Promise.withResolvers<void>();
  const { signal } = new AbortController();
  const importing = withDedicated({ databaseUrl, sql, signal }, async (session) => {
    await killed;
    // Its connection is lost, and the next one finds no primary.
    for (;;)
      await session`SELECT pg_sleep(0.1)`.catch(
        (error) => codeOf(error) !== 'CONNECTION_DESTROYED' || Promise.reject(error),
      );
  }).catch((error) => error.message);

  pair.killPrimary();
  kill();
  expect(await importing).toStartWith('the connection to Postgres was lost: ');
  await until('readiness', async () => (await readiness()) === 503);
  await pair.promote();
  await until('readiness', async () => (await readiness()) === 200);
  const after = answered;
  await until('more answers', () => answered > after + 200);
  isOver = true;
  await Promise.all(clients);

  // Apart from answers: problems that cost nothing, and failed searches, which cost their credit (specification, Errors).
  expect([...statuses.keys()].toSorted()).toEqual(
    expect.arrayContaining(['200', '503 service-unavailable']) as never,
  );
  const failed = '500 search-failed';
  const expected = ['200', '503 service-unavailable', '500 authentication-failed', failed];
  expect([...statuses.keys()].filter((status) => !expected.includes(status))).toEqual([]);
  const charged = answered + (statuses.get(failed) ?? 0);
  await until('exact books', async () => (await requireAccount(sql, accountId)).used === charged);
});
