import { beforeAll, expect, test } from 'bun:test';
import type { AnyElysia } from 'elysia';
import { free } from '../../src/admission/plan.ts';
import { ok } from '../../src/http/answer.ts';
import { createObserver } from '../../src/http/observe.ts';
import { createLogTo } from '../../src/observability/log.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { type AppParts, createApp } from '../../src/service/app.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';

/** The responses that left the observer, the last code of ours that holds one. */
const left: unknown[] = [];
let app: AnyElysia;

beforeAll(() => {
  const log = createLogTo({ write: () => {} });
  const metrics = createMetrics();
  const { observe } = createObserver({ publicUrl: 'http://service', log, metrics });
  const keep = (response: Response) => {
    left.push(response);
    return response;
  };
  const page = () => new Response('{}');
  const handler = { charge: null, plan: () => free(() => ok({})) };
  const parts: AppParts = {
    publicUrl: 'http://service',
    pipeline: { serve: async () => ok({}) },
    observer: {
      observe(...observed: Parameters<typeof observe>) {
        return observe(...observed).then(keep);
      },
    },
    metrics,
    metricsToken: null,
    health: { live: page, ready: async () => page(), results: async () => ({}) },
    handlers: new Map(API_ROUTES.map((route) => [route, handler])),
    openApi: {},
    stopping: new AbortController().signal,
    dashboard: {
      handle: () => keep(page()),
      publicPages: { reference: page, problem: page },
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
    const response = await app.handle(
      new Request(`http://service${path}`, { method, headers: { cookie: 'a=b' } }),
    );
    expect([route.method, path, response === left.at(-1)]).toEqual([route.method, path, true]);
  }
  expect(left).toHaveLength(app.routes.length);
});

test('an answer that fails at once is an internal error, logged once with its own message', async () => {
  const lines: { msg: string; err?: { message: string } }[] = [];
  const log = createLogTo({ write: (line) => void lines.push(JSON.parse(line)) });
  const observer = createObserver({ publicUrl: 'http://service', log, metrics: createMetrics() });
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
