/** Nothing of a request is parsed before its pause and its token, whatever its shape: the routes are the service's own lists. */
import { afterAll, beforeEach, expect, spyOn, test } from 'bun:test';
import type { DashboardParts } from '../../src/dashboard/context.ts';
import { createDashboard } from '../../src/dashboard/dashboard.ts';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { problem } from '../../src/http/answer.ts';
import { BASE_PATH, MCP_PATH, methodOf } from '../../src/http/api-route.ts';
import { createObserver } from '../../src/http/observe.ts';
import type { Log } from '../../src/platform/observability/log.ts';
import { createMetrics } from '../../src/platform/observability/metrics.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { startDashboardService } from '../dashboard/service.ts';
import { createMember } from '../dashboard/visitor.ts';
import { call, requestText, sendRaw } from '../support/client.ts';
import { countParses } from '../support/parses.ts';
import { createCaller } from '../support/service.ts';

const service = await startDashboardService();
const { visitor } = await createMember(service);
const [browser, session] = ['dashboard.browser', 'dashboard.session_token'].map(
  (name) => `${name}=${visitor.cookies.get(name)}`,
);

let hasTokens = true;
let asked = 0;
// Refusals are late, and these are hundreds. A loop that waits for something by sleeping must let it happen.
const sleep = spyOn(Bun, 'sleep').mockImplementation(() => new Promise((resolve) => setImmediate(resolve)));
const dashboard = await createDashboard({
  sql: service.sql,
  publicUrl: service.baseUrl,
  config: { ...service.config, trustProxy: ['10.0.0.0/8'] },
  log: { warn() {}, error() {} },
  stopping: new AbortController().signal,
  rateLimiter: {
    async take() {
      asked += 1;
      return { taken: hasTokens };
    },
  },
  observer: {
    observe: (_request: Request, _route: string, answer: (trace: { requestId: string }) => unknown) =>
      answer({ requestId: 'test' }),
  },
} as unknown as DashboardParts);
// Its first request loads better-auth.
await dashboard.handle(new Request(`${service.baseUrl}/dashboard/sign-in`), null, '/sign-in');
const parses = countParses();
beforeEach(() => {
  hasTokens = false;
  asked = 0;
});
afterAll(async () => {
  parses.stop();
  sleep.mockRestore();
  await dashboard.close();
  await service.stop();
});

const repeated = (text: string, bytes: number) => text.repeat(bytes / text.length);

/** The worst of each part of a request, in as many bytes as a page takes. */
interface Shape {
  query?: string;
  headers?: Record<string, string>;
  body?: string;
}
const worst = (bytes: number): Record<string, Shape> => ({
  cookie: { headers: { Cookie: repeated('a=b;', bytes) } },
  'names of known cookies': {
    headers: { Cookie: repeated('dashboard.browser=dashboard.language=;', bytes) },
  },
  query: { query: `?${repeated('a&', bytes)}` },
  'escaped query': { query: `?lang=${repeated('%00', bytes)}` },
  'addresses of proxies': { headers: { 'X-Forwarded-For': repeated('10.0.0.1,', bytes) } },
  commas: { headers: { 'X-Forwarded-For': repeated(',', bytes) } },
  'one long address': { headers: { 'X-Forwarded-For': repeated('1', bytes) } },
  languages: { headers: { 'Accept-Language': repeated('pt,', bytes) } },
  'other headers': {
    headers: Object.fromEntries(
      ['Accept-Encoding', 'Content-Type', 'Origin', 'User-Agent', 'X-Request-Id'].map((name) => [
        name,
        repeated(':1;', bytes / 6),
      ]),
    ),
  },
});
const BODIES: Record<string, Shape> = {
  fields: { body: repeated('a&', 190_000) },
  escapes: { body: `list=${repeated('%41', 190_000)}` },
};
const SHAPES = { ...worst(15_000), ...BODIES };

const FORM = 'application/x-www-form-urlencoded';

function pageRequest(path: string, method: string, cookies: string | undefined, shape: Shape): Request {
  const headers = new Headers({ 'Content-Type': FORM, ...shape.headers });
  if (cookies !== undefined) headers.set('Cookie', `${cookies}; ${headers.get('Cookie') ?? ''}`);
  const body = method === 'POST' ? (shape.body ?? 'a=b') : undefined;
  const address = `${service.baseUrl}/dashboard${path.replace(':id', 'x')}${shape.query ?? ''}`;
  return new Request(address, { method, headers, ...(body !== undefined && { body }) });
}

const FORMS_AND_PAGES = Object.entries(ROUTES).flatMap(([path, route]) =>
  (['GET', 'POST'] as const).filter((method) => route[method]).map((method) => ({ path, method })),
);
const CLIENTS: Record<string, string | undefined> = {
  'a visitor': undefined,
  'a known browser': browser,
  'a session without its browser': session,
};

/** A proxy for each client, so that none is paused because of another. */
let proxies = 0;
const newProxy = () => `10.1.${Math.floor(++proxies / 250)}.${proxies % 250}`;

/** The statuses of each page and form in each shape, and what was parsed. */
async function askAll(cookies: string | undefined, shapes: Record<string, Shape>, peer = newProxy) {
  const statuses = new Set<number>();
  parses.take();
  for (const { path, method } of FORMS_AND_PAGES) {
    const answers = Object.values(shapes).map((shape) =>
      dashboard.handle(pageRequest(path, method, cookies, shape), peer(), path),
    );
    for (const { status } of await Promise.all(answers)) statuses.add(status);
  }
  return [[...statuses], parses.take()];
}

test.each(Object.entries(CLIENTS))(
  'without a token no page and no form is parsed: %s',
  async (_name, cookies) => {
    expect(FORMS_AND_PAGES.length).toBeGreaterThan(50);
    expect(await askAll(cookies, SHAPES)).toEqual([[429], []]);
    expect(asked).toBeGreaterThan(0);
  },
);

test.each([
  ['a visitor', undefined],
  ['a known browser', browser],
  ['a member', `${browser}; ${session}`],
])('of a paused client nothing is parsed, and no token is asked for: %s', async (_name, cookies) => {
  const shapes = { ...SHAPES };
  // Of these clients the address is another.
  for (const name of ['addresses of proxies', 'commas', 'one long address']) delete shapes[name];
  const proxy = newProxy();
  const pause = () => dashboard.handle(pageRequest('', 'GET', cookies, {}), proxy, '');
  expect((await pause()).status).toBe(429);
  expect(asked).toBe(1);
  expect(await askAll(cookies, shapes, () => proxy)).toEqual([[429], []]);
  expect(asked).toBe(1);
});

test.each([
  ['is refused', '/screen', false, 429],
  ['is for a page that takes no form', '', true, 405],
] as const)(
  'the body of a request that %s is dropped, so that nothing of it is kept',
  async (_, path, isAdmitted, status) => {
    hasTokens = isAdmitted;
    const request = pageRequest(path, 'POST', undefined, SHAPES.fields!);
    expect((await dashboard.handle(request, newProxy(), path)).status).toBe(status);
    expect([request.bodyUsed, await request.text().catch(() => 'dropped')]).toEqual([true, 'dropped']);
  },
);

test('so is that of any request which is answered without it', async () => {
  const log = { request() {}, error() {} } as unknown as Log;
  const { observe } = createObserver({ publicUrl: service.baseUrl, log, metrics: createMetrics() });
  for (const answer of [
    () => problem('unauthorized'),
    async () => new Response(),
    () => {
      throw new Error('no');
    },
  ]) {
    const request = new Request(service.baseUrl, { method: 'POST', body: SHAPES.fields!.body! });
    await observe(request, '/', answer);
    expect(await request.text().catch(() => 'dropped')).toBe('dropped');
  }
});

test('headers over 16 KiB are a 431 without parsing, also where there are tokens', async () => {
  hasTokens = true;
  expect(await askAll(undefined, worst(60_000))).toEqual([[431], []]);
});

test('the counter sees what is parsed after the token, and better-auth gets its own cookies alone', async () => {
  hasTokens = true;
  const seen = async (shape: Shape, method = 'GET') => {
    parses.take();
    const request = pageRequest('/sign-in', method, session, shape);
    expect((await dashboard.handle(request, newProxy(), '/sign-in')).status).toBeLessThan(500);
    return parses.take();
  };
  expect(await seen(SHAPES.query!)).toContain('URL');
  for (const shape of [SHAPES.fields!, { body: 'a&'.repeat(64) }])
    expect(await seen(shape, 'POST')).toEqual(['body by arrayBuffer']);
  expect(await seen({ body: `a=${'b'.repeat(20_000)}` }, 'POST')).toEqual([
    'body by arrayBuffer',
    'URLSearchParams',
  ]);
  expect(await seen(SHAPES.cookie!)).toEqual([]);
});

/** Sends a request over a socket, with these headers unless its shape has them. @returns its status and what was parsed */
async function sendShape(
  method: string,
  path: string,
  { query = '', headers = {}, body = '' }: Shape,
  further: Record<string, string>,
): Promise<[status: string, parsed: string[]]> {
  const sent = { ...further, ...headers, 'Content-Length': body.length };
  parses.take();
  const answer = await sendRaw(service, requestText(`${method} ${path}${query}`, sent, body));
  return [answer.slice('HTTP/1.1 '.length, 12), parses.take()];
}

test('of a call of the API without a token nothing is parsed', async () => {
  const { key } = await createCaller(service.sql, { limits: { requestsPerMinute: 1 } });
  expect((await call(service.url, '/usage', { key })).status).toBe(200);
  const paths = [...API_ROUTES.map((route) => [methodOf(route), BASE_PATH + route.path]), ['POST', MCP_PATH]];
  // A body of up to 4 KiB of an agent is read, because its refusal is a result of its call.
  const shapes = {
    ...worst(60_000),
    body: { body: repeated('[', 60_000), headers: { 'Content-Type': 'application/json' } },
  };
  const further = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` };
  for (const [method, path] of paths)
    for (const [name, { body = ' '.repeat(5000), ...shape }] of Object.entries<Shape>(shapes)) {
      // Agents' addresses refuse a foreign origin before that.
      const { Origin: _, ...headers } = shape.headers ?? {};
      const address = path!.replace(':nif', '500002576');
      const seen = await sendShape(method!, address, { ...shape, headers, body }, further);
      expect([method, path, name, ...seen]).toEqual([method, path, name, '429', []]);
    }
});

test('of a request for what needs no token nothing is parsed, and neither of one without a key', async () => {
  const paths = [
    '/',
    ...['/nothing', '/openapi', '/openapi/json', '/problems/validation', '/problems/x', '/metrics'],
  ];
  const others = ['/favicon.ico', '/health/live', '/health/ready', '/dashboard/assets/x', MCP_PATH];
  for (const path of [...paths, ...others, ...API_ROUTES.map((route) => BASE_PATH + route.path)])
    for (const [name, shape] of Object.entries<Shape>(worst(60_000)))
      for (const method of ['GET', 'POST']) {
        const seen = await sendShape(method, path, shape, { Accept: 'text/html' });
        const answered = expect.stringMatching(/^[234]/);
        expect([method, path, name, ...seen]).toEqual([method, path, name, answered, []]);
      }
});
