import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createMetrics } from '../../src/observability/metrics.ts';
import { type Api, ask, startApi } from '../api/support.ts';
import { csv } from '../directory/support.ts';
import { until } from '../support/until.ts';

let api: Api;
beforeAll(async () => {
  api = await startApi({ proxied: ['postgres'], directory: csv(1, 3) });
});

afterAll(() => api.stop());

test('a credit that can not be given back for a request answered 503 is logged, at the latest when the service stops', async () => {
  const caller = await api.caller({ included: 10 });
  const { proxies, sql } = api;
  const service = await api.startInstance();
  expect((await ask(service, '/usage', { key: caller.key })).status).toBe(200);
  let answer: ReturnType<typeof ask> | undefined;
  await sql.begin(async (holding) => {
    await holding`SELECT 1 FROM balances WHERE account_id = ${caller.accountId} FOR UPDATE`;
    answer = ask(service, '/companies?q=empresa', { key: caller.key });
    await until('the statement that waits', async () => {
      const [row] = await sql`SELECT count(*) AS waiting FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return row!.waiting === 1;
    });
    // It commits, and is not heard of any more.
    proxies.postgres.hang();
  });
  expect((await answer!).status).toBe(503);
  await service.stop();
  expect(service.logLines).toContainEqual(
    expect.objectContaining({
      msg: 'credits spent for abandoned requests were not given back',
      attempt: expect.any(String),
      calls: { [caller.accountId]: 1 },
    }),
  );
});

test('the metric that alarms are set on counts it', async () => {
  const metrics = createMetrics(() => 0);
  expect(await metrics.text()).toContain('\ncredit_refunds_failed_total 0\n');
  metrics.refundFailed(3);
  expect(await metrics.text()).toContain('\ncredit_refunds_failed_total 3\n');
});
