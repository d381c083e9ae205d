/** Requests as no client library sends them: over a raw socket, their address and method as they stand. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Api, type Caller, sendRaw, startApi } from '../api/support.ts';
import { csv, nif } from '../directory/support.ts';
import { nifPtFound } from '../support/provider.ts';

const FOUND = nif(1);

let api: Api;
let caller: Caller;
beforeAll(async () => {
  api = await startApi({ mode: 'full', directory: csv(1, 3) });
  api.provider.answer(FOUND, nifPtFound(FOUND));
  caller = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
});
afterAll(() => api.stop());

/** What is answered to a request line, with the caller's key. */
async function send(method: string, target: string) {
  const head = `Host: h\r\nAuthorization: Bearer ${caller.key}\r\nConnection: close\r\n\r\n`;
  const answer = await sendRaw(api, `${method} ${target} HTTP/1.1\r\n${head}`);
  const [headers = '', body = ''] = answer.split('\r\n\r\n');
  return { status: Number(answer.split(' ')[1]), headers: headers.toLowerCase(), body };
}

describe('HEAD', () => {
  test.each([
    `/api/v1/companies/${FOUND}`,
    `/api/v1/./companies/${FOUND}`,
    `/api/v1/nothing/../companies/${FOUND}`,
    `http://x/api/v1/companies/${FOUND}`,
    'http://x/api/v1/companies?q=empresa',
    '/api/v1/./usage',
    'http://x/problems/validation',
    '/problems/./validation',
    'http://x/health/live',
  ])('%s is 405 and costs nothing', async (target) => {
    const before = await api.ledger(caller);
    const { status, headers, body } = await send('HEAD', target);
    expect([status, body]).toEqual([405, '']);
    expect(headers).toContain('\r\nallow: get');
    expect(await api.ledger(caller)).toEqual(before);
    // The same address is there for GET.
    expect((await send('GET', target)).status).toBe(200);
  });
});

test.each([
  `PT\\${FOUND}`,
  `\\${FOUND}`,
  `companies\\${FOUND}`,
  `api\\v1\\companies\\${FOUND}`,
  `${FOUND}\\`,
])('a NIF with a backslash is a 400: %s', async (path) => {
  const { status, body } = await send('GET', `/api/v1/companies/${path}`);
  expect([status, JSON.parse(body).type]).toEqual([400, `${api.baseUrl}/problems/validation`]);
});

test('a NIF is read whatever the Host is', async () => {
  for (const host of ['', 'a/b', 'user@elsewhere.example', 'a?b', 'h/api/v1/companies/1']) {
    const head = `Host: ${host}\r\nAuthorization: Bearer ${caller.key}\r\nConnection: close\r\n\r\n`;
    const answer = await sendRaw(api, `GET /api/v1/companies/${FOUND} HTTP/1.1\r\n${head}`);
    expect([host, answer.split(' ')[1]]).toEqual([host, '200']);
  }
});

test.each(['x\\validation', '\\validation'])('a problem with a backslash is a 404: %s', async (path) => {
  const { status, body } = await send('GET', `/problems/${path}`);
  expect([status, JSON.parse(body).type]).toEqual([404, `${api.baseUrl}/problems/not-found`]);
});

test('a long query is a search that finds nothing and costs its credit, up to 64 KiB of headers', async () => {
  for (const length of [17_000, 65_000]) {
    const before = await api.ledger(caller);
    const { status, body } = await send('GET', `/api/v1/companies?q=${'a'.repeat(length)}`);
    expect([status, body]).toEqual([200, '{"data":[],"error":null}']);
    expect(await api.ledger(caller)).toEqual({ ...before, used: before.used + 1 });
  }
  const before = await api.ledger(caller);
  expect((await send('GET', `/api/v1/companies?q=${'a'.repeat(66_000)}`)).status).toBe(431);
  expect(await api.ledger(caller)).toEqual(before);
});

test('what Bun tells in development mode is nothing of the service', async () => {
  // It tells it to whoever calls it localhost.
  const answer = await sendRaw(api, 'GET /bun:info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  expect(answer).toStartWith('HTTP/1.1 404');
  expect(answer).toContain(`"type":"${api.baseUrl}/problems/not-found"`);
});
