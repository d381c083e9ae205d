/** Requests of strangers to the endpoints of clients: little of them is parsed, and few of them ask Postgres. */
import { afterAll, expect, test } from 'bun:test';
import { createBounds } from '../../../src/dashboard/connections/oauth-bounds.ts';
import { connectionRoutes } from '../../../src/dashboard/connections/oauth-endpoints.ts';
import type { DashboardParts } from '../../../src/dashboard/context.ts';
import { createProcessRateLimiter } from '../../../src/metering/rate-limit/process.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { KIB } from '../../../src/platform/units.ts';
import { startDashboardService } from '../service.ts';
import { createMember } from '../visitor.ts';
import { connectAgent, exchange, waitingCode } from './agent.ts';

const service = await startDashboardService({ OAUTH_REGISTRATION: 'on' });
afterAll(() => service.stop());
const { baseUrl, sql } = service;

let addresses = 0;
const newAddress = () => `198.51.100.${++addresses}`;

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, address: string, headers = {}) =>
  fetch(baseUrl + path, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Forwarded-For': address,
      ...headers,
    },
    body,
  });

test.each([
  ['4,000 fields', 'a&'.repeat(4000)],
  ['4,000 fields without a name', '&'.repeat(8000)],
  ['a field twice', 'token=a&token=b'],
  ['bytes that are no text', new Uint8Array(8000).fill(0xff)],
])('a form with %s is refused', async (_name, body) => {
  for (const path of ['/oauth/token', '/oauth/revoke']) {
    const { status } = await post(path, body, newAddress());
    expect([path, status]).toEqual([path, 400]);
  }
});

test('a form with fields that are not known gets its token', async () => {
  const { agent, code } = await waitingCode(service, await createMember(service));
  const further = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`further${at}`, 'é']));
  expect((await exchange(service, agent, code, further)).status).toBe(200);
});

const DOCUMENT = { redirect_uris: ['https://agent.example/'] };
/** Bodies that reach Postgres if nothing refuses them first. */
const RIGHT: Record<string, string> = {
  '/oauth/token': 'grant_type=refresh_token',
  '/oauth/revoke': `token=${(await connectAgent(service, await createMember(service))).tokens.access_token}`,
  '/oauth/register': JSON.stringify(DOCUMENT),
};

/** The endpoints over a Postgres that counts statements, with buckets of their own. @param given stands for Postgres */
function createEndpoints(given: Sql = sql) {
  const counts = { statements: 0, tokens: 0 };
  const counted = new Proxy(given, {
    apply(target, self, values) {
      counts.statements += 1;
      return Reflect.apply(target, self, values);
    },
    get(target, name) {
      if (name === 'begin') counts.statements += 1;
      return Reflect.get(target, name);
    },
  });
  // No time passes, so that a slow machine gets no further tokens.
  const buckets = createProcessRateLimiter(() => 0);
  const app = connectionRoutes({
    publicUrl: baseUrl,
    config: { ...service.config, trustProxy: ['0.0.0.0'] },
    sql: counted,
    observer: { observe: (_request: Request, _route: string, answer: () => unknown) => answer() },
    rateLimiter: {
      take(name: string, limit: number) {
        counts.tokens += 1;
        return buckets.take(name, limit);
      },
    },
    stopping: new AbortController().signal,
  } as unknown as DashboardParts);
  const endpoints = [...new Set(app.routes.map(({ path }) => path))];
  const requestTo = (path: string, address: string, headers: Record<string, string> = {}) => {
    const body = RIGHT[path];
    const type = body?.startsWith('{') ? 'application/json' : 'application/x-www-form-urlencoded';
    return new Request(baseUrl + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'Content-Type': type, 'X-Forwarded-For': address, ...headers },
      ...(body !== undefined && { body }),
    });
  };
  const ask = (path: string, address: string) => app.handle(requestTo(path, address));
  return { app, counts, endpoints, requestTo, ask };
}

const { endpoints: ENDPOINTS } = createEndpoints();

test('the test knows a right body of each endpoint that takes one', async () => {
  const { ask } = createEndpoints();
  for (const path of ENDPOINTS)
    expect([path, (await ask(path, newAddress())).status]).not.toEqual([path, 405]);
  expect(ENDPOINTS.filter((path) => path in RIGHT)).toHaveLength(Object.keys(RIGHT).length);
});

/** Requests of 700 that are refused because of a limit of attempts, not for want of a token. */
const OVER_ATTEMPTS: Record<string, number> = { '/oauth/token': 400, '/oauth/register': 0 };

test.each(ENDPOINTS)('a flood of an endpoint asks Postgres less than once a token: %s', async (path) => {
  const { ask, counts } = createEndpoints();
  const address = newAddress();
  const flood = async () => {
    const answers = await Promise.all(Array.from({ length: 700 }, () => ask(path, address)));
    return answers.filter(({ status }) => status === 429).length;
  };
  const tokens = path === '/oauth/register' ? 20 : 600;
  const refused = await flood();
  const over = refused - (700 - tokens);
  expect([over >= 0, over <= (OVER_ATTEMPTS[path] ?? 0)]).toEqual([true, true]);
  expect(counts.statements).toBeLessThanOrEqual(600);
  const { statements } = counts;
  expect(await flood()).toBe(700);
  expect(counts.statements).toBe(statements);
});

test('a limit of attempts that is passed refuses its own address alone', async () => {
  for (const [path, kind, max] of [
    ['/oauth/token', 'token', 200],
    ['/oauth/register', 'register', 20],
  ] as const) {
    const { ask, counts } = createEndpoints();
    const address = newAddress();
    await sql`
      INSERT INTO dashboard_attempts VALUES (${`${kind} ${address}`}, ${max}, now() + interval '90 seconds')`;
    for (let sent = 0; sent < 5; sent += 1) {
      const { status, headers } = await ask(path, address);
      expect([path, status, Number(headers.get('retry-after')) > 80]).toEqual([path, 429, true]);
    }
    expect([path, counts]).toEqual([path, { statements: 5, tokens: 5 }]);
    expect((await ask(path, newAddress())).status).not.toBe(429);
  }
});

test.each(ENDPOINTS)('a body over 8 KiB is refused before anything is read or asked: %s', async (path) => {
  const { app, counts, requestTo } = createEndpoints();
  const request = requestTo(path, newAddress(), { 'Content-Length': '8193' });
  const { status } = await app.handle(request);
  expect([status, request.bodyUsed, counts]).toEqual([413, false, { statements: 0, tokens: 0 }]);
});

test('a client whose registration comes in chunks of over 8 KiB together is refused', async () => {
  const register = (fill: string) => {
    const document = JSON.stringify({ redirect_uris: ['https://agent.example/code'], fill });
    return fetch(`${baseUrl}/oauth/register`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
      body: (async function* () {
        yield document;
      })(),
    });
  };
  expect((await register('')).status).toBe(201);
  expect((await register('a'.repeat(8 * KIB))).status).toBe(400);
});

test('requests of strangers have half of the pool at most, and each network has its turn', async () => {
  const asked: string[] = [];
  let [inFlight, most] = [0, 0];
  const slow = async (_texts: unknown, keys: string[]) => {
    asked.push(...keys);
    inFlight += 1;
    most = Math.max(most, inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    inFlight -= 1;
    return keys.map((key) => ({ key, attempts: 1, leftS: 1 }));
  };
  const { ask } = createEndpoints(slow as unknown as Sql);
  const [crowd, other] = [newAddress(), newAddress()];
  const answers = Array.from({ length: 50 }, () => ask('/oauth/token', crowd));
  answers.push(ask('/oauth/token', other));
  for (const { status } of await Promise.all(answers)) expect(status).toBe(400);
  expect(most).toBe(2);
  expect(asked).toHaveLength(51);
  expect(asked.indexOf(`token ${other}`)).toBeLessThan(10);
});

function createTakes() {
  let nowMs = 1000;
  let asked = 0;
  const buckets = createProcessRateLimiter(() => nowMs * 1000);
  const take = (name: string, limit: number) => {
    asked += 1;
    return buckets.take(name, limit);
  };
  const boundsOf = createBounds({ take }, () => nowMs);
  /** As the endpoints ask. @returns whether there was a token */
  const enter = async (address: string, endpoint = '/oauth/token') => {
    const bounds = boundsOf(endpoint, address, 600);
    return bounds.pausedS() === 0 && (await bounds.take()) === 0;
  };
  return { enter, asked: () => asked, pass: (ms: number) => (nowMs += ms) };
}

test('an address that is refused asks no store for the second that it has to wait, and no other endpoint refuses it', async () => {
  const { enter, asked, pass } = createTakes();
  for (let sent = 0; sent < 600; sent += 1) expect(await enter('192.0.2.1')).toBe(true);
  for (let sent = 0; sent < 100; sent += 1) expect(await enter('192.0.2.1')).toBe(false);
  expect(asked()).toBe(601);
  expect(await enter('192.0.2.2')).toBe(true);
  expect(await enter('192.0.2.1', '/oauth/revoke')).toBe(true);
  pass(999);
  expect(await enter('192.0.2.1')).toBe(false);
  pass(1);
  for (let sent = 0; sent < 10; sent += 1) expect(await enter('192.0.2.1')).toBe(true);
  expect(await enter('192.0.2.1')).toBe(false);
});

test('a /48 of IPv6 has the tokens of four addresses', async () => {
  const { enter } = createTakes();
  let taken = 0;
  for (let sent = 0; sent < 4000; sent += 1)
    if (await enter(`2001:db8:1:${(sent % 40).toString(16)}::${sent.toString(16)}`)) taken += 1;
  expect(taken).toBe(2400);
  expect(await enter('2001:db8:2::1')).toBe(true);
});
