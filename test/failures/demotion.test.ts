/** A balancer that keeps connections to a Postgres that was demoted. Postgres itself ends them, and a balancer may make them again. */
import { afterAll, expect, test } from 'bun:test';
import { codeOf } from '../../src/platform/errors.ts';
import { createPools } from '../../src/platform/postgres/pools.ts';
import { startPostgresPair } from '../support/postgres-pair.ts';
import { startProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

const connections = new Set<object>();
const pair = await startPostgresPair();
const balancer = await startProxy(pair.standbyUrl, {
  sent: (_, connection) => void connections.add(connection),
});
afterAll(async () => {
  await balancer.close();
  await pair.stop();
});

test('a pool that is connected to a standby finds the primary, although nobody closes its connections', async () => {
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
});
