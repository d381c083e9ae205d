/** Addresses and methods as no client library sends them, over a raw socket, and what the service says and does about its own address. */
import { afterAll, describe, expect, test } from 'bun:test';
import { createVisitor, formTokenOf, newPerson } from '../dashboard/visitor.ts';
import { PLENTY, startApi } from '../support/api.ts';
import { requestText, sendRaw } from '../support/client.ts';
import { csv, nif } from '../support/companies.ts';
import '../support/modes.ts';
import { nifPtFound } from '../support/provider.ts';
import { createCaller, startTestService } from '../support/service.ts';

const PUBLIC_URL = 'https://directory.example/base';
const FOUND = nif(1);

const api = await startApi({ mode: 'full', directory: csv(1, 3) });
api.provider.answer(FOUND, nifPtFound(FOUND));
const caller = await api.caller(PLENTY);
afterAll(() => api.stop());

/** The answer to a request line, with the caller's key or without. */
async function send(method: string, target: string, hasKey = true) {
  const key = hasKey ? { Authorization: `Bearer ${caller.key}` } : {};
  const answer = await sendRaw(api, requestText(`${method} ${target}`, key));
  const [headers = '', body = ''] = answer.split('\r\n\r\n');
  return { status: Number(answer.split(' ')[1]), headers: headers.toLowerCase(), body };
}

test.each([
  `/api/v1/companies/${FOUND}`,
  `http://x/api/v1/companies/${FOUND}`,
  'http://x/api/v1/companies?q=empresa',
  'http://x/problems/validation',
  'http://x/health/live',
])(
  'a method that %s has not, known to client libraries or not, is a 405 that costs nothing',
  async (target) => {
    const before = await api.ledger(caller);
    for (const method of ['HEAD', 'TRACE', 'CONNECT', 'PROPFIND']) {
      const { status, headers, body } = await send(method, target, method === 'HEAD');
      expect([method, status, /\r\nallow: get(\r|$)/.test(headers)]).toEqual([method, 405, true]);
      if (method === 'HEAD') expect(body).toBe('');
    }
    expect(await api.ledger(caller)).toEqual(before);
    // The same address is there for GET.
    expect((await send('GET', target)).status).toBe(200);
  },
);

test('escaped periods and backslashes in a NIF are data: separators, and a 400', async () => {
  const dotted = FOUND.replace(/(\d{3})(?=\d)/g, '$1%2E');
  expect((await send('GET', `/api/v1/companies/${dotted}`)).status).toBe(200);
  const { status, body } = await send('GET', `/api/v1/companies/PT%5C${FOUND}%5c`);
  expect([status, JSON.parse(body).type]).toEqual([400, `${api.baseUrl}/problems/validation`]);
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

test('the page that Bun has in development mode is no page of the service', async () => {
  // Bun answers it to requests for the host localhost.
  const answer = await sendRaw(api, requestText('GET /bun:info', { Host: 'localhost' }));
  expect(answer).toStartWith('HTTP/1.1 404');
  expect(answer).toContain(`"type":"${api.baseUrl}/problems/not-found"`);
});

describe('the service’s own address', () => {
  test('never follows the request', async () => {
    const hosts = ['evil.example', 'a', 'evil.example:1', '[::1]'];
    for (const host of hosts) {
      const forwarded = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' };
      const headers = { Host: host, ...forwarded, Forwarded: 'host=evil.example' };
      for (const target of ['/api/v1/usage', '/api/v1/nothing', 'http://evil.example/api/v1/usage']) {
        const answer = await sendRaw(api, requestText(`GET ${target}`, headers));
        const kind = target.endsWith('usage') ? 'unauthorized' : 'not-found';
        expect(answer).toContain(`"type":"${api.baseUrl}/problems/${kind}"`);
        expect(answer).not.toContain('evil');
      }
      for (const target of ['/openapi', '/openapi/json', '/problems/validation']) {
        const answer = await sendRaw(api, requestText(`GET ${target}`, headers));
        expect(answer).toStartWith('HTTP/1.1 200');
        expect(answer).not.toContain('evil');
      }
    }
  });

  test('is PUBLIC_URL where that is set, in problems, in the reference and in its examples', async () => {
    await using instance = await api.startInstance({ PUBLIC_URL: `${PUBLIC_URL}/` });
    const problem = (await (await fetch(`${instance.url}/usage`)).json()) as { type: string };
    expect(problem.type).toBe(`${PUBLIC_URL}/problems/unauthorized`);
    const document = await (await fetch(`${instance.baseUrl}/openapi/json`)).text();
    expect(JSON.parse(document).servers).toEqual([{ url: `${PUBLIC_URL}/api/v1` }]);
    expect(document).not.toContain(instance.baseUrl);
    const pages = ['openapi', 'problems/validation'];
    for (const each of pages) {
      const html = await (await fetch(`${instance.baseUrl}/${each}`)).text();
      expect(html).not.toContain(instance.baseUrl);
      // Every link of the pages leads somewhere below the public address.
      const links = [...html.matchAll(/href="([^"#]+)"/g)].map(
        ([, href]) => new URL(href!, `${PUBLIC_URL}/${each}`).href,
      );
      expect(links.length).toBeGreaterThan(0);
      for (const link of new Set(links)) {
        expect(link).toStartWith(`${PUBLIC_URL}/`);
        const here = link.replace(PUBLIC_URL, instance.baseUrl);
        const { status } = await fetch(here, { headers: { Accept: 'text/html' } });
        expect([link, status]).toEqual([link, 200]);
      }
    }
  });
});

/** One of every kind of answer: of the API with and without success, pages, the dashboard, what no route has. */
const REQUESTS: [method: string, path: string][] = [
  ['GET', '/api/v1/companies?q=abaco'],
  ['GET', '/api/v1/usage'],
  ['GET', '/api/v1/companies/500000001'],
  ['POST', '/api/v1/usage'],
  ['GET', '/health/live'],
  ['GET', '/openapi'],
  ['GET', '/openapi/json'],
  ['GET', '/problems/validation'],
  ['GET', '/metrics'],
  ['GET', '/nothing'],
  ['GET', '/dashboard'],
  ['GET', '/dashboard/sign-in'],
  ['POST', '/dashboard/sign-in'],
  ['GET', '/dashboard/nothing'],
];

for (const [publicUrl, expected] of [
  ['https://api.example.pt', 'max-age=31536000'],
  ['http://api.example.pt', null],
] as const) {
  test(`with ${publicUrl} every answer has ${expected ?? 'no'} Strict-Transport-Security`, async () => {
    await using service = await startTestService({ env: { PUBLIC_URL: publicUrl } });
    const { key } = await createCaller(service.sql);
    for (const [method, path] of REQUESTS) {
      for (const headers of [{ Authorization: `Bearer ${key}` }, {}] as Record<string, string>[]) {
        const response = await fetch(service.baseUrl + path, { method, headers, redirect: 'manual' });
        const { status } = response;
        const given = response.headers.get('strict-transport-security');
        expect([method, path, status, given]).toEqual([method, path, status, expected]);
      }
    }
  });
}

test('with https every cookie of the dashboard is sent over TLS alone, and a sign-up opens a session', async () => {
  const publicUrl = 'https://api.example.pt';
  await using service = await startTestService({ env: { PUBLIC_URL: publicUrl, SIGN_UP: 'open' } });
  const visitor = createVisitor(service.baseUrl);
  const person = newPerson();
  const form_token = await formTokenOf(visitor, '/dashboard/sign-up?lang=en');
  const form = { ...person, form_token };
  const signedUp = await visitor.post('/dashboard/sign-up', form, { Origin: publicUrl });
  expect(signedUp.status).toBe(303);
  const page = await visitor.get('/dashboard');
  expect([page.status, [...visitor.cookies.keys()].toSorted()]).toEqual([
    200,
    ['__Secure-dashboard.session_token', 'dashboard.browser', 'dashboard.form', 'dashboard.language'],
  ]);
  for (const { headers } of [signedUp, page])
    for (const cookie of headers.getSetCookie())
      expect([
        cookie,
        /; HttpOnly/i.test(cookie),
        /; Secure/i.test(cookie),
        /; Path=\/dashboard/i.test(cookie),
      ]).toEqual([cookie, true, true, true]);
});
