import { afterAll, expect, test } from 'bun:test';
import { MINUTE } from '../../../src/platform/units.ts';
import { startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import { lockRow, waitingForLock } from '../../support/locks.ts';
import { startProxy } from '../../support/proxy.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { until } from '../../support/until.ts';

const api = await startApi();
/** Stands between Postgres and the stopping instance only. If other instances hung too, the end of the test would hang. */
const proxy = await startProxy(api.env.DATABASE_URL!);

afterAll(async () => {
  proxy.up();
  await api.stop();
  await proxy.close();
});

test('a credit that may have been spent for a request answered 503 is logged and counted when the service stops without an answer', async () => {
  const { accountId, key } = await api.caller({ included: 10 });
  const service = await api.startInstance({ DATABASE_URL: proxy.url(api.env.DATABASE_URL!) });
  expect((await ask(service, '/usage', { key })).status).toBe(200);
  const lock = await lockRow(api.sql, accountId);
  const answer = ask(service, '/companies?q=empresa', { key });
  await waitingForLock(api.sql, 1);
  // The charge commits, and its answer is lost.
  proxy.hang();
  await lock.release();
  expect((await answer).status).toBe(503);
  const report = () => service.logLines.find(({ msg }) => msg.startsWith('credits may have been spent'));
  const clock = stopClock();
  const stopping = service.stop();
  await until('the stop', () => service.logLines.some(({ msg }) => msg === 'stopping'));
  clock.pass(MINUTE); // longer than a stop takes
  await until('the report of the credit', () => report() !== undefined);
  clock.restore();
  // The ledger is read now, because a void that waits in the proxy returns the credit later.
  expect(await api.ledger({ accountId })).toEqual({ used: 1, credits: 0 });
  proxy.up();
  await stopping;
  expect(report()).toMatchObject({
    msg: 'credits may have been spent for requests answered 503',
    attempts: [expect.any(String)],
    calls: { [accountId]: 1 },
  });
});
