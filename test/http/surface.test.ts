import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ok, problem } from '../../src/http/answer.ts';
import { BASE_PATH, methodOf, templateOf, UNPAID } from '../../src/http/api-route.ts';
import { createObserver } from '../../src/http/observe.ts';
import { PROBLEMS } from '../../src/http/problems.ts';
import { traceIdOf } from '../../src/http/traceparent.ts';
import { createLogTo } from '../../src/platform/observability/log.ts';
import { createMetrics } from '../../src/platform/observability/metrics.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { mayReadMetrics } from '../../src/service/public-routes.ts';
import { PLENTY, startApi } from '../support/api.ts';
import { ask, linesSince } from '../support/ask.ts';
import { requestText, sendRaw } from '../support/client.ts';
import { csv, nif } from '../support/companies.ts';
import '../support/modes.ts';
import { nifPtFound } from '../support/provider.ts';

const METRICS_TOKEN = 'metrics-token-of-the-test';
const FOUND = nif(1);

const api = await startApi({ mode: 'full', directory: csv(1, 3), env: { METRICS_TOKEN } });
api.provider.answer(FOUND, nifPtFound(FOUND));
const caller = await api.caller(PLENTY);
afterAll(() => api.stop());
const page = (path: string, init: RequestInit = {}) => fetch(api.baseUrl + path, init);

describe('request ids', () => {
  test.each(['a', 'req-1.2_3', 'A'.repeat(64), crypto.randomUUID(), '0af7651916cd43dd8448eb211c80319c'])(
    '%s is kept',
    async (id) => {
      for (const path of ['/usage', '/companies', '/nothing', `/companies/${FOUND}`]) {
        const { headers } = await ask(api, path, { key: caller.key, headers: { 'X-Request-Id': id } });
        expect(headers.get('X-Request-Id')).toBe(id);
        expect(api.logLines.at(-1)).toMatchObject({ msg: 'request', requestId: id });
      }
    },
  );

  test.each(['', 'a b', 'A'.repeat(65), 'a\tb', '<script>', 'a,b', 'ação', '"x"', 'a/b'])(
    '%j is replaced by an id of the service',
    async (id) => {
      const { headers } = await ask(api, '/usage', { key: caller.key, headers: { 'X-Request-Id': id } });
      expect(headers.get('X-Request-Id')).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
      expect(JSON.stringify(api.logLines.at(-1))).toContain(headers.get('X-Request-Id')!);
    },
  );

  test('a key is replaced, whole or in part', async () => {
    for (const id of [caller.key, caller.key.slice(4), `id-${caller.key.slice(0, 20)}`]) {
      const { headers } = await ask(api, '/usage', { key: caller.key, headers: { 'X-Request-Id': id } });
      expect(headers.get('X-Request-Id')).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
      expect(JSON.stringify(api.logLines)).not.toContain(id);
    }
  });
});

test('every answer of the API is JSON in UTF-8 whatever the caller accepts', async () => {
  const headers = { Accept: 'text/html', 'Accept-Language': 'pt', 'Accept-Encoding': 'gzip' };
  const { status, body } = await ask(api, `/companies/${FOUND}`, { key: caller.key, headers });
  expect([status, body.data.city]).toEqual([200, 'Leça do Balio']);
});

test.each(['/openapi', '/openapi/json', '/problems/validation', '/health/live', '/health/ready', '/metrics'])(
  'the answer of %s is not sniffed, and is not stored where it is of the moment',
  async (path) => {
    const headers = { Authorization: `Bearer ${METRICS_TOKEN}` };
    const answer = await sendRaw(api, requestText(`GET ${path}`, headers));
    expect(answer).toStartWith('HTTP/1.1 200');
    expect(answer.match(/^X-Content-Type-Options: .*$/gim)).toEqual(['X-Content-Type-Options: nosniff']);
    if (/health|metrics/.test(path)) expect(answer).toContain('\r\nCache-Control: no-store\r\n');
  },
);

test('the address of the document that tools guess leads to it', async () => {
  const answer = await page('/openapi.json');
  expect([answer.status, new URL(answer.url).pathname]).toEqual([200, '/openapi/json']);
});

describe('problem types', () => {
  test.each(Object.keys(PROBLEMS))('%s has a page with cause and fix', async (kind) => {
    const answer = await page(`/problems/${kind}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Type')).toStartWith('text/html');
    const html = await answer.text();
    for (const part of [
      kind,
      String(PROBLEMS[kind as keyof typeof PROBLEMS].status),
      'Cause',
      'What to do',
    ]) {
      expect(html).toContain(part);
    }
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  });

  test.each(['', 'nothing', '__proto__', 'toString', 'constructor', 'validation/', '%E0%A4%A', '<b>'])(
    'an unknown kind %j is a 404',
    async (kind) => {
      const answer = await page(`/problems/${kind}`);
      expect(answer.status).toBe(404);
      expect(((await answer.json()) as { type: string }).type).toBe(`${api.baseUrl}/problems/not-found`);
    },
  );
});

describe('the reference', () => {
  // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document, walked freely
  let document: any;
  beforeAll(async () => {
    document = await (await page('/openapi/json')).json();
  });

  test('is OpenAPI 3.1 with every endpoint and its method, all behind the key', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d$/);
    expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) });
    const documented = Object.entries<object>(document.paths).flatMap(([path, of]) =>
      Object.keys(of).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented).toEqual(API_ROUTES.map((route) => `${methodOf(route)} ${templateOf(route.path)}`));
    expect(document.security).toEqual([{ apiKey: [] }]);
    expect(document.components.securitySchemes.apiKey).toMatchObject({ type: 'http', scheme: 'bearer' });
  });

  // The other direction, that each problem of an answer is documented, is checked at every answer of a test.
  test('documents problems of credits and rights only where a call needs them, and further ones at these endpoints alone', () => {
    for (const { path, charge, right } of API_ROUTES) {
      const documented = JSON.stringify(document.paths[templateOf(path)]);
      const kinds = [...UNPAID, 'not-permitted'].filter((kind) => documented.includes(`"${kind}":`));
      const needed = [...(charge === null ? [] : UNPAID), ...(right === null ? [] : ['not-permitted'])];
      expect([path, ...kinds]).toEqual([path, ...needed]);
    }
    const further = API_ROUTES.map(({ path, problems }): [string, string[]] => [
      path,
      problems.filter((kind) => kind !== 'validation'),
    ]);
    expect(further.filter(([, kinds]) => kinds.length > 0)).toEqual([
      ['/companies', ['search-failed']],
      ['/matches', ['search-failed']],
      ['/companies/:nif', ['company-not-found', 'company-lookup-failed']],
      ['/debts/changes', ['changes-expired']],
      ['/activity', ['activity-expired']],
    ]);
  });

  test('says of each status whether it has RateLimit headers, and when it has none', () => {
    const described = (path: string) =>
      Object.fromEntries(
        Object.entries<{ headers: Record<string, { description: string }> }>(
          document.paths[path].get.responses,
        ).map(([status, { headers }]) => {
          const limits = Object.keys(headers).filter((name) => name.startsWith('RateLimit-'));
          expect([0, 4]).toContain(limits.length);
          const absent = limits.map((name) => /Absent (.+)\./.exec(headers[name]!.description)?.[1]);
          expect(new Set(absent).size).toBeLessThan(2);
          return [status, limits.length === 0 ? 'never' : (absent[0] ?? 'always')];
        }),
      );
    const company = {
      200: 'always',
      400: 'always',
      401: 'never',
      403: 'always',
      429: 'always',
      500: 'for `authentication-failed`',
      503: 'if an overloaded service took no token',
    };
    expect(described('/companies')).toEqual(company);
    expect(described('/companies/{nif}')).toEqual({ ...company, 404: 'always', 502: 'always' });
    const { 400: _, ...usage } = company;
    expect(described('/usage')).toEqual(usage);
    expect(described('/datasets')).toEqual(usage);
  });

  test('has examples of problems that fit', () => {
    const problem = new Ajv2020({ strict: false, validateFormats: false })
      .addSchema(document, 'document')
      .getSchema('document#/components/schemas/Problem')!;
    const operations = Object.values<Record<string, { responses: object }>>(document.paths).flatMap(
      Object.values,
    );
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const answers = operations.flatMap(({ responses }) => Object.values<any>(responses));
    const examples = answers.flatMap(({ content }) =>
      Object.values<{ value: unknown }>(content['application/problem+json']?.examples ?? {}),
    );
    expect(examples.length).toBeGreaterThan(50);
    for (const { value } of examples) expect([problem(value), problem.errors]).toEqual([true, null]);
  });
});

describe('metrics', () => {
  const scrape = () => page('/metrics', { headers: { Authorization: `Bearer ${METRICS_TOKEN}` } });

  test('want their token: a missing or wrong one and an API key are refused', async () => {
    for (const authorization of [
      undefined,
      'Bearer',
      'Bearer wrong',
      METRICS_TOKEN,
      `Bearer ${caller.key}`,
    ]) {
      const headers = authorization === undefined ? {} : { Authorization: authorization };
      const answer = await page('/metrics', { headers });
      expect([answer.status, answer.headers.get('WWW-Authenticate')]).toEqual([401, 'Bearer']);
      expect(await answer.text()).not.toContain('http_requests_total');
    }
    const answer = await scrape();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Type')).toStartWith('text/plain');
    const otherCase = await page('/metrics', { headers: { Authorization: `bearer ${METRICS_TOKEN}` } });
    expect(otherCase.status).toBe(200);
  });

  type Reading = [peer: string | null, headers: Record<string, string>, access: 'allowed' | 'hidden'];
  test.each<Reading>([
    ...['127.0.0.1', '127.8.0.1', '::1', '::ffff:127.0.0.1'].map((peer): Reading => [peer, {}, 'allowed']),
    ...['10.0.0.1', '::ffff:10.127.0.1', 'fe80::1', null].map((peer): Reading => [peer, {}, 'hidden']),
    ...['localhost:80', '[::1]:80', '127.0.0.1'].map((host): Reading => ['::1', { host }, 'allowed']),
    ...['api.example.pt', 'localhost.example.pt:80', '127.0.0.1.example.pt'].map(
      (host): Reading => ['::1', { host }, 'hidden'],
    ),
    ['::1', { 'X-Forwarded-For': '127.0.0.1' }, 'hidden'],
    ['::1', { 'X-Forwarded-For': '' }, 'hidden'],
    ['::1', { 'X-Real-IP': '203.0.113.7' }, 'hidden'],
    ['::1', { 'X-Forwarded-Host': 'api.example.pt' }, 'hidden'],
    ['::1', { Forwarded: 'for=203.0.113.7' }, 'hidden'],
    ['::1', { Via: '1.1 proxy' }, 'hidden'],
  ])('without a token, a connection from %s with %j is %s', (peer, headers, access) => {
    const request = { headers: new Headers({ host: 'localhost', ...headers }) };
    expect(mayReadMetrics(request, peer, null)).toBe(access);
  });

  test('count requests by route template and status, and hold no NIF, key, account or name', async () => {
    const countOf = (text: string, labels: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`http_requests_total{${labels}}`))
          ?.split(' ')[1] ?? 0,
      );
    const labels = 'route="/api/v1/companies/{nif}",status="200"';
    const before = countOf(await (await scrape()).text(), labels);
    for (let i = 0; i < 3; i++) await ask(api, `/companies/${FOUND}`, { key: caller.key });
    await ask(api, '/companies?q=empresa', { key: caller.key });
    await ask(api, `/nothing/${FOUND}/${caller.accountId}`, { key: caller.key });
    await ask(api, `/companies/${FOUND}`, { method: 'DELETE' });
    const text = await (await scrape()).text();
    expect(countOf(text, labels)).toBe(before + 3);
    const routes = new Set([...text.matchAll(/route="([^"]*)"/g)].map(([, route]) => route!));
    const allowed = [
      ...API_ROUTES.map(({ path }) => BASE_PATH + templateOf(path)),
      ...['/problems/{kind}', '/openapi', '/openapi/json', '/openapi.json', '/health/live'],
      ...['/health/ready', '/metrics', 'unknown'],
    ];
    expect([...routes].filter((route) => !allowed.includes(route))).toEqual([]);
    for (const secret of [FOUND, caller.key, caller.accountId, caller.keyId, 'empresa', 'Exemplo']) {
      // The digits of a time may hold any number.
      expect(text.replace(/\.\d+/g, '')).not.toContain(secret);
    }
    expect(text).not.toMatch(/\b\d{9}\b(?=[",}])/);
    // What Prometheus's own format demands: a type for each metric, and lines of name, labels and value.
    for (const line of text.split('\n').filter(Boolean)) {
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? [-+\d.eInfa]+)$/);
    }
  });
});

test('health: live says so; ready names what it has asked; neither wants a key', async () => {
  const live = await page('/health/live');
  expect([live.status, await live.json()]).toEqual([200, { status: 'live' }]);
  const ready = await page('/health/ready');
  expect([ready.status, await ready.json()]).toEqual([
    200,
    {
      status: 'ready',
      dependencies: {
        postgres: { status: 'up' },
        elasticsearch: { status: 'up' },
        directory: { status: 'up' },
        credits: { status: 'up' },
        redis: { status: 'up' },
      },
    },
  ]);
});

test('the log has one line a request: id, method, route, status, time, account, key, credits', async () => {
  const from = api.logLines.length;
  await ask(api, `/companies/${FOUND}`, { key: caller.key, headers: { 'X-Request-Id': 'one-line' } });
  await ask(api, '/companies?q=empresa', { key: 'svc_wrong' });
  await ask(api, `/nothing/${FOUND}`, { key: caller.key });
  const [lookup, unauthorized, unknown, ...rest] = linesSince(api, from);
  expect(rest).toEqual([]);
  expect(lookup).toEqual({
    level: 30,
    time: expect.any(String),
    requestId: 'one-line',
    call: expect.stringMatching(/^[0-9a-f-]{36}$/),
    method: 'GET',
    route: '/api/v1/companies/{nif}',
    status: 200,
    durationMs: expect.any(Number),
    account: caller.accountId,
    key_id: caller.keyId,
    credits: 1,
    msg: 'request',
  });
  expect(unauthorized).toMatchObject({ route: '/api/v1/companies', status: 401 });
  expect(unauthorized).not.toHaveProperty('account');
  expect(unauthorized).not.toHaveProperty('key_id');
  expect(unknown).toMatchObject({ route: 'unknown', status: 404 });
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test.each([
  [`00-${TRACE}-${SPAN}-01`, TRACE],
  [`00-${TRACE}-${SPAN}-00`, TRACE],
  [`01-${TRACE}-${SPAN}-01-what-comes-later`, TRACE],
  [`cc-${TRACE}-${SPAN}-01`, TRACE],
  [`00-${TRACE}-${SPAN}-01-more`, undefined],
  [`ff-${TRACE}-${SPAN}-01`, undefined],
  [`00-${'0'.repeat(32)}-${SPAN}-01`, undefined],
  [`00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
  [`00-${TRACE.toUpperCase()}-${SPAN}-01`, undefined],
  [`00-${TRACE.slice(1)}-${SPAN}-01`, undefined],
  [`00-${TRACE}-${SPAN}`, undefined],
  [`01-${TRACE}-${SPAN}-01-${'x'.repeat(300)}`, undefined],
  ['"}', undefined],
  ['', undefined],
])('the traceparent %p gives the trace %p', (given, expected) => {
  expect(traceIdOf(new Headers({ traceparent: given }))).toBe(expected);
});

test('the line of a request has the trace of its traceparent, one without has none, and a source gets none', async () => {
  const from = api.logLines.length;
  const asked = api.provider.requests.length;
  const given = [
    { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'a=b' },
    {},
    { traceparent: `00-${TRACE}-${SPAN}` },
  ];
  for (const [n, headers] of given.entries()) {
    api.provider.answer(nif(n + 10), nifPtFound(nif(n + 10)));
    await ask(api, `/companies/${nif(n + 10)}`, {
      key: caller.key,
      headers: headers as Record<string, string>,
    });
  }
  expect(linesSince(api, from).map(({ trace_id }) => trace_id)).toEqual([TRACE, undefined, undefined]);
  const sent = JSON.stringify(api.provider.requests.slice(asked));
  expect(sent).toContain(nif(10));
  expect(sent).not.toMatch(/trace|4bf92f35/);
});

test('health checks that succeed have no log line; those that fail have one, as every other request has', async () => {
  const lines: { route: string; status: number }[] = [];
  const log = createLogTo({ write: (line) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const { observe } = createObserver({ publicUrl: 'http://service', log, metrics });
  const request = new Request('http://service/');
  for (const route of ['/health/live', '/health/ready', '/api/v1/usage']) {
    await observe(request, route, () => ok({}));
    await observe(request, route, () => problem('service-unavailable'));
  }
  await observe(request, '/health/ready', () => new Response(null, { status: 503 }));
  expect(lines.map(({ route, status }) => [route, status])).toEqual([
    ['/health/live', 503],
    ['/health/ready', 503],
    ['/api/v1/usage', 200],
    ['/api/v1/usage', 503],
    ['/health/ready', 503],
  ]);
  expect(await metrics.text()).toMatch(/http_requests_total\{route="\/health\/live",status="200"\} 1/);
});
