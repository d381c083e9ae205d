import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Api, ask, startApi } from '../api/support.ts';
import { csv } from '../directory/support.ts';
import { until } from '../support/until.ts';

let api: Api;
beforeAll(async () => {
  api = await startApi({ proxied: ['postgres'], directory: csv(1, 3) });
});

afterAll(() => api.stop());

test('a credit that may have been spent for a request answered 503 is logged and counted when the service stops without an answer', async () => {
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
      msg: 'credits may have been spent for requests answered 503',
      attempts: [expect.any(String)],
      calls: { [caller.accountId]: 1 },
    }),
  );
});
