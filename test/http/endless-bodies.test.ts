/** A body that never ends is not waited for before the request has its key and its token: every POST of the service. */
import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { BASE_PATH, MCP_PATH, methodOf } from '../../src/http/api-route.ts';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { startApi } from '../support/api.ts';

const api = await startApi();
afterAll(() => api.stop());

const METERED = [
  ...API_ROUTES.filter((route) => methodOf(route) === 'POST').map(({ path }) => BASE_PATH + path),
  MCP_PATH,
];

/** The status of the answer to a POST whose body begins, and never ends. A read of it would take longer than a test may. */
function statusOf(path: string, key?: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const socket = connect(Number(new URL(api.baseUrl).port), '127.0.0.1', () =>
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\n${key === undefined ? '' : `Authorization: Bearer ${key}\r\n`}` +
        'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"nifs":["500002576"',
    ),
  );
  socket.on('data', (data) => {
    resolve(Number(/^HTTP\/1.1 (\d+)/.exec(data.toString())?.[1]));
    socket.destroy();
  });
  return promise;
}

test('every POST of the API and of agents is in the list', () => {
  expect(METERED).toEqual([
    '/api/v1/resolutions',
    '/api/v1/lookups',
    '/api/v1/debts',
    '/api/v1/debts/changes',
    '/mcp',
  ]);
});

test.each(METERED)('POST %s without a valid key is a 401 at once', async (path) => {
  expect(await statusOf(path)).toBe(401);
  expect(await statusOf(path, 'svc_wrong')).toBe(401);
  expect(await statusOf(path, generateSecret())).toBe(401);
});

test.each(METERED)('POST %s without a token is a 429 at once', async (path) => {
  const { key } = await api.caller({ limits: { requestsPerMinute: 1 } });
  await fetch(`${api.url}/usage`, { headers: { Authorization: `Bearer ${key}` } });
  expect(await statusOf(path, key)).toBe(429);
});

test('an endpoint or a page that takes no POST does not wait for a body either', async () => {
  const others = API_ROUTES.map(({ path }) => BASE_PATH + path).filter((path) => !METERED.includes(path));
  for (const path of others) expect([path, await statusOf(path)]).toEqual([path, 405]);
  const pages = Object.entries(ROUTES).filter(([, { POST }]) => POST === undefined);
  for (const [path] of pages) {
    // A page of a member leads to the sign-in.
    expect([303, 405]).toContain(await statusOf(`/dashboard${path}`));
  }
});
