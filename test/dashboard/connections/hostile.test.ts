/** Requests of strangers to the endpoints of clients: little of them is parsed, and few of them ask Postgres. */
import { afterAll, expect, test } from 'bun:test';
import { connectionRoutes } from '../../../src/dashboard/connections/oauth-endpoints.ts';
import type { DashboardParts } from '../../../src/dashboard/context.ts';
import { createBounds } from '../../../src/dashboard/request/request-limit.ts';
import type { RateLimiter } from '../../../src/metering/rate-limit/bucket.ts';
import { createProcessRateLimiter } from '../../../src/metering/rate-limit/process.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { KIB } from '../../../src/platform/units.ts';
import { inOneTurn } from '../../support/stopped-clock.ts';
import { startDashboardService } from '../service.ts';
import { createMember } from '../visitor.ts';
import { connectAgent, exchange, waitingCode } from './agent.ts';

const service = await startDashboardService({ OAUTH_REGISTRATION: 'on' });
afterAll(() => service.stop());
const { baseUrl, sql } = service;

let addresses = 0;
const newAddress = () => `198.51.100.${++addresses}`;

const FORM = 'application/x-www-form-urlencoded';

test.each([
  // The token alone would be revoked.
  ['1,000 fields', `token=a&${Array.from({ length: 1000 }, (_, n) => `f${n}`).join('&')}`],
  ['8,000 fields without a name', `token=a${'&'.repeat(8000)}`],
  ['a field twice', 'token=a&token=b'],
  ['bytes that are no text', new Uint8Array(8000).fill(0xff)],
])('a form with %s is refused', async (_name, body) => {
  for (const path of ['/oauth/token', '/oauth/revoke']) {
    const headers = { 'Content-Type': FORM, 'X-Forwarded-For': newAddress() };
    const { status } = await fetch(baseUrl + path, { method: 'POST', headers, body });
    expect([path, status]).toEqual([path, 400]);
  }
});

test('a form with fields that are not known gets its token', async () => {
  const { agent, code } = await waitingCode(service, await createMember(service));
  const further = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`further${at}`, 'é']));
  expect((await exchange(service, agent, code, further)).status).toBe(200);
});

/** Bodies that reach Postgres if nothing refuses them first. */
const RIGHT: Record<string, string> = {
  '/oauth/token': 'grant_type=refresh_token',
  '/oauth/revoke': `token=${(await connectAgent(service, await createMember(service))).tokens.access_token}`,
  '/oauth/register': JSON.stringify({ redirect_uris: ['https://agent.example/'] }),
};

/** The endpoints with buckets of their own, in which no time passes, so that a slow machine gets no further tokens. */
function createEndpoints(given: Sql = sql, buckets: RateLimiter = createProcessRateLimiter(() => 0)) {
  const counts = { asked: 0, taken: 0 };
  const app = connectionRoutes({
    publicUrl: baseUrl,
    config: { ...service.config, trustProxy: ['0.0.0.0'] },
    sql: given,
    observer: { observe: (_request: Request, _route: string, answer: () => unknown) => answer() },
    rateLimiter: {
      async take(name: string, limit: number) {
        const token = await buckets.take(name, limit);
        counts.asked += 1;
        if (token.taken) counts.taken += 1;
        return token;
      },
    },
    stopping: new AbortController().signal,
  } as unknown as DashboardParts);
  const requestTo = (path: string, address: string, headers: Record<string, string> = {}) => {
    const body = RIGHT[path];
    const type = body?.startsWith('{') ? 'application/json' : FORM;
    return new Request(baseUrl + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'Content-Type': type, 'X-Forwarded-For': address, ...headers },
      ...(body !== undefined && { body }),
    });
  };
  const statusOf = async (request: Request) => (await app.handle(request)).status;
  return { counts, endpoints: [...new Set(app.routes.map(({ path }) => path))], requestTo, statusOf };
}

const { endpoints: ENDPOINTS } = createEndpoints();

test.each(ENDPOINTS)(
  'an address has 600 requests a minute, or 20 registrations, and then no store is asked: %s',
  async (path) => {
    const { counts, requestTo, statusOf } = createEndpoints();
    const address = newAddress();
    const flood = () => Promise.all(Array.from({ length: 700 }, () => statusOf(requestTo(path, address))));
    const tokens = path === '/oauth/register' ? 20 : 600;
    // Without a clock, the time to wait does not pass meanwhile.
    const [statuses, asked, later] = await inOneTurn(async () => [
      await flood(),
      counts.asked,
      await flood(),
    ]);
    // Each endpoint gets the body that it takes. Beyond their tokens, failures are refused by their limit of attempts.
    expect(statuses).not.toContain(405);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(700 - tokens);
    expect(new Set(later)).toEqual(new Set([429]));
    expect(counts).toEqual({ asked, taken: tokens });
    expect(await statusOf(requestTo(path, newAddress()))).not.toBe(429);
  },
);

test.each(ENDPOINTS)('a request without a token of its address asks Postgres nothing: %s', async (path) => {
  const empty = { take: async () => ({ taken: false, waitUs: 1 }) } as unknown as RateLimiter;
  const { requestTo, statusOf } = createEndpoints(null as unknown as Sql, empty);
  const request = requestTo(path, newAddress());
  expect([await statusOf(request), request.bodyUsed]).toEqual([429, false]);
});

test.each(ENDPOINTS)('a body over 8 KiB is refused before anything is read or asked: %s', async (path) => {
  const { counts, requestTo, statusOf } = createEndpoints();
  const request = requestTo(path, newAddress(), { 'Content-Length': '8193' });
  expect([await statusOf(request), request.bodyUsed, counts]).toEqual([413, false, { asked: 0, taken: 0 }]);
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
  const { requestTo, statusOf } = createEndpoints(slow as unknown as Sql);
  const ask = (address: string) => statusOf(requestTo('/oauth/token', address));
  const [crowd, other] = [newAddress(), newAddress()];
  const answers = Array.from({ length: 50 }, () => ask(crowd));
  answers.push(ask(other));
  expect(new Set(await Promise.all(answers))).toEqual(new Set([400]));
  expect(most).toBe(2);
  expect(asked).toHaveLength(51);
  expect(asked.indexOf(`token ${other}`)).toBeLessThan(10);
});

function createTakes() {
  let nowMs = 1000;
  const limiter = createProcessRateLimiter(() => nowMs * 1000);
  const boundsOf = createBounds(limiter, () => nowMs);
  /** As the endpoints ask. @returns whether there was a token */
  const enter = async (address: string, endpoint = '/oauth/token') => {
    const bounds = boundsOf(endpoint, address, 600);
    return bounds.pausedS() === 0 && (await bounds.take()) === 0;
  };
  return { enter, pass: (ms: number) => (nowMs += ms) };
}

test('an address that is refused waits for a second, and no other endpoint refuses it', async () => {
  const { enter, pass } = createTakes();
  for (let sent = 0; sent < 600; sent += 1) expect(await enter('192.0.2.1')).toBe(true);
  expect(await enter('192.0.2.1')).toBe(false);
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
