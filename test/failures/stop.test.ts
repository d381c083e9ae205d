import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CLOSE_TIMEOUT_MS } from '../../src/closers.ts';
import { type Api, ask, startApi, timed } from '../api/support.ts';
import { csv } from '../directory/support.ts';

let api: Api;
beforeAll(async () => {
  api = await startApi({ mode: 'full', proxied: ['postgres'], directory: csv(1, 3) });
});
afterAll(() => api.stop());

test('a stop while Postgres hangs ends in its time, and what is owed is not behind what hangs', async () => {
  const caller = await api.caller({ included: 10 });
  const service = await api.startInstance();
  const search = () => ask(service, '/companies?q=empresa', { key: caller.key });
  expect((await search()).status).toBe(200);
  const lines = () => service.logLines.map(({ msg }) => msg);
  api.proxies.postgres.hang();
  // Its statement may have been committed: it is owed back.
  expect((await search()).status).toBe(503);
  // By now a move of the journal hangs as well, and is not given up before the stop.
  await Bun.sleep(4000);
  const { ms } = await timed(service.stop());
  // Nothing was under way: what works beside requests, and the connections.
  expect(ms).toBeLessThan(2 * CLOSE_TIMEOUT_MS + 500);
  const owed = lines().indexOf('credits spent for abandoned requests were not given back');
  expect(owed).toBeGreaterThan(0);
  const closing = lines().findIndex((line) => line.startsWith('closing '));
  expect(closing).toBeGreaterThan(owed);
});
