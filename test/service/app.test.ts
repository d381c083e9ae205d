import { beforeAll, expect, test } from 'bun:test';
import type { AnyElysia } from 'elysia';
import { createBunRouteHandler } from 'elysia/adapter/bun/compose';
import { ok } from '../../src/http/answer.ts';
import { createObserver } from '../../src/http/observe.ts';
import { OVERLOADED } from '../../src/http/refusals.ts';
import { createLogTo } from '../../src/observability/log.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { type AppParts, createApp, createShortcuts } from '../../src/service/app.ts';
import { until } from '../support/until.ts';

/** The responses that left the observer, the last code of ours that holds one. */
const left: unknown[] = [];
let app: AnyElysia;
let parts: AppParts;
/** Whether the pipeline refuses each request. */
let isOverloaded = false;

beforeAll(() => {
  const log = createLogTo({ write: () => {} });
  const metrics = createMetrics(() => 0);
  const { observe, refusal } = createObserver({ publicUrl: 'http://service', log, metrics });
  const keep = (response: Response) => {
    left.push(response);
    return response;
  };
  const page = () => new Response('{}');
  const handler = { charge: null, handle: async () => ok({}) };
  parts = {
    publicUrl: 'http://service',
    pipeline: { serve: async () => ok({}), wouldRefuse: () => isOverloaded },
    observer: {
      observe(...observed: Parameters<typeof observe>) {
        const response = observe(...observed);
        return response instanceof Promise ? response.then(keep) : keep(response);
      },
      refusal,
      running: 0,
    },
    metrics,
    metricsToken: null,
    health: { live: page, ready: async () => page() },
    search: handler,
    lookup: handler,
    batchLookup: handler,
    usage: handler,
    datasets: handler,
    openApi: {},
    dashboard: {
      handle: () => keep(page()),
      publicPages: { reference: page, problem: page },
      callsCounted: () => {},
      close: async () => {},
    },
  };
  app = createApp(parts);
  app.compile();
});

// A handler that passes Elysia's whole context on makes Elysia parse cookies and make a second Response out of the first.
test('every response leaves Elysia as the object that was handed to it', async () => {
  for (const route of app.routes) {
    const method = route.method === 'ALL' ? 'POST' : route.method;
    const path = route.path.replace(':nif', '500002576').replace(/:\w+|\*/, 'x');
    const request = Object.assign(
      new Request(`http://service${path}`, { method, headers: { cookie: 'a=b' } }),
      {
        params: {},
      },
    );
    const handle = createBunRouteHandler(app, route) as unknown as (request: Request) => Promise<Response>;
    const response = await handle(request);
    expect([route.method, path, response === left.at(-1)]).toEqual([route.method, path, true]);
  }
  expect(left).toHaveLength(app.routes.length);
});

test('every endpoint has a shortcut for its method, which refuses while the service is overloaded', async () => {
  const shortcuts = createShortcuts(parts);
  const routes = app.routes.map(({ method, path }) => `${method} ${path}`);
  expect([...shortcuts.keys()].sort()).toEqual([
    'GET /api/v1/companies',
    'GET /api/v1/companies/:nif',
    'GET /api/v1/datasets',
    'GET /api/v1/usage',
    'POST /api/v1/lookups',
  ]);
  expect(routes).toEqual(expect.arrayContaining([...shortcuts.keys()]));
  for (const shortcut of shortcuts.values()) {
    isOverloaded = false;
    expect(shortcut(new Request('http://service/'))).toBeNull();
    isOverloaded = true;
    expect(shortcut(new Request('http://service/'))?.status).toBe(503);
  }
});

test("a shortcut's refusals are those of the pipeline, each counted, together one log line", async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLogTo({ write: (line) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics(() => 0);
  const observer = createObserver({ publicUrl: 'https://service', log, metrics });
  const request = new Request('https://service/', { headers: { 'X-Request-Id': 'mine' } });
  const whole = await observer.observe(request, '/whole', () => ({ ok: false, problem: OVERLOADED }));
  const refuse = observer.refusal('/short', OVERLOADED);
  const [first, second] = [refuse(request), refuse(new Request('https://service/'))];
  expect(Object.fromEntries(first.headers)).toEqual(Object.fromEntries(whole.headers));
  expect([first.status, await first.json()]).toEqual([whole.status, await whole.json()]);
  expect(second.headers.get('X-Request-Id')).not.toBe('mine');
  expect(await metrics.text()).toContain('http_requests_total{route="/short",status="503"} 2');
  await until('the refusals are logged', () => lines.length === 2);
  expect(lines[1]).toMatchObject({ level: 40, route: '/short', requests: 2 });
});

test('an answer that fails at once is an internal error, logged once with its own message', async () => {
  const lines: { msg: string; err?: { message: string } }[] = [];
  const log = createLogTo({ write: (line) => void lines.push(JSON.parse(line)) });
  const observer = createObserver({ publicUrl: 'http://service', log, metrics: createMetrics(() => 0) });
  const response = await observer.observe(new Request('http://service/'), '/', async () => {
    throw new Error('the page is gone');
  });
  expect(response.status).toBe(500);
  expect(lines.map(({ err }) => err?.message)).toEqual(['the page is gone', undefined]);
});

test('no handler makes Elysia read cookies, headers or a body', () => {
  for (const route of app.routes) {
    const source = String(route.compile());
    expect([route.path, source]).toEqual([
      route.path,
      expect.not.stringMatching(/parseCookie|c\.headers=|c\.body=/),
    ]);
  }
});
