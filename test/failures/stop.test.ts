import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Api, ask, startApi } from '../api/support.ts';
import { csv } from '../directory/support.ts';

let api: Api;
beforeAll(async () => {
  api = await startApi({ mode: 'full', proxied: ['postgres'], directory: csv(1, 3) });
});
afterAll(() => api.stop());

test('a stop while Postgres hangs ends, and says what may be lost', async () => {
  const caller = await api.caller({ included: 10 });
  const service = await api.startInstance();
  const search = () => ask(service, '/companies?q=empresa', { key: caller.key });
  expect((await search()).status).toBe(200);
  api.proxies.postgres.hang();
  expect((await search()).status).toBe(503);
  await service.stop();
  expect(service.logLines).toContainEqual(
    expect.objectContaining({
      msg: 'credits may have been spent for requests answered 503',
      calls: { [caller.accountId]: 1 },
    }),
  );
});
