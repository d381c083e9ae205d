import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import { ok } from '../../src/http/answer.ts';
import { createObserver } from '../../src/http/observe.ts';
import { free } from '../../src/metering/admission/quote.ts';
import { readConfig } from '../../src/platform/config/config.ts';
import { createLogTo } from '../../src/platform/observability/log.ts';
import { createMetrics } from '../../src/platform/observability/metrics.ts';
import { type AppParts, createApp, createUnknown } from '../../src/service/app.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { holdPort, listen } from '../../src/service/listen.ts';
import { sendRaw } from '../support/client.ts';

/** The responses that left the observer, the last code of ours that holds one. */
const left: unknown[] = [];
/** The templates of the routes that answered, and the peers that the dashboard was told. */
const reached: string[] = [];
const peers: (string | null)[] = [];
let parts: AppParts;
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
  const handler = { quote: () => free(() => ok({})) };
  parts = {
    publicUrl: 'http://service',
    pipeline: { serve: async () => ok({}) },
    observer: {
      observe(...observed: Parameters<typeof observe>) {
        reached.push(observed[1]);
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
      handle: (_request, peer, path) => {
        reached.push(path);
        peers.push(peer);
        return keep(page());
      },
      publicPages: {
        ...{ front: page, reference: page, problem: page, notFound: () => null, icon: '/icon.svg' },
        waitS: async () => 0,
      },
      connectionRoutes: new Elysia({ name: 'connections' }),
      close: async () => {},
    },
  };
  app = createApp(parts);
  app.compile();
});

function requestTo(route: { method: string; path: string }) {
  const method = route.method === 'ALL' ? 'POST' : route.method;
  return { method, path: route.path.replace(':nif', '500002576').replace(/:\w+|\*/, 'x') };
}

// A handler that passes Elysia's whole context on makes Elysia parse cookies and make a second Response out of the first.
test('every response leaves Elysia as the object that was handed to it', async () => {
  for (const route of app.routes) {
    const { method, path } = requestTo(route);
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

describe('on a socket', () => {
  let baseUrl: string;
  let stop: () => Promise<unknown>;
  beforeAll(() => {
    const held = holdPort('127.0.0.1', 0);
    listen(app, createUnknown(parts), readConfig({}), held);
    const server = app.server!;
    stop = () => server.stop(true);
    baseUrl = `http://127.0.0.1:${held.port}`;
  });
  afterAll(() => stop());

  /** The status of an answer, and the route that gave it. */
  function answerOf(route: { method: string; path: string }, protocol: string, host: string) {
    const { method, path } = requestTo(route);
    return answerTo(`${path}?x=1`, method, protocol, host);
  }

  test.each([
    ['no Host', '1.0', ''],
    ['an empty Host', '1.1', 'Host:\r\n'],
    ['a Host that can be none', '1.1', 'Host: a b\r\n'],
    ['a Host with a path', '1.1', 'Host: a/api/v1/usage\r\n'],
    ['a Host with a query', '1.1', 'Host: a?b\r\n'],
    ['a Host without its bracket', '1.1', 'Host: [::1\r\n'],
  ])('every route answers a request with %s as it does others', async (_, protocol, host) => {
    for (const route of app.routes) {
      const usual = await answerOf(route, '1.1', 'Host: api.example.pt\r\n');
      expect(usual.reached).toHaveLength(1);
      const answer = await answerOf(route, protocol, host);
      expect([route.method, route.path, answer]).toEqual([route.method, route.path, usual]);
    }
  });

  /** The status of a request for a path, sent as it is, and the routes that answered. */
  async function answerTo(path: string, method = 'GET', protocol = '1.1', host = 'Host: a\r\n') {
    reached.length = 0;
    const head = `${method} ${path} HTTP/${protocol}\r\n${host}Connection: close\r\n\r\n`;
    const answer = await sendRaw({ baseUrl }, head);
    return { status: answer.split(' ')[1], reached: [...reached] };
  }

  const paths = () =>
    [...new Set(app.routes.map((route) => requestTo(route).path))].filter((path) => path !== '/');

  /** Paths that a URL parser makes this one of, or another route's. A dot segment removes the one before it. */
  const changedFormsOf = (path: string) =>
    [...path.matchAll(/\//g)].flatMap(({ index }) => {
      const [before, after] = [path.slice(0, index), path.slice(index + 1)];
      const dots = [
        '/./',
        '/%2e/',
        '/%2E/',
        '/x/../',
        '/x/%2e%2e/',
        '/x/.%2E/',
        '/x/%2E./',
        '//',
        '/x\\..\\',
        '/.\\',
      ];
      // A path begins with a slash, or Bun answers 400.
      const backslashes = index === 0 ? [] : ['\\', '\\.\\', '/x\\..\\%5C/../'];
      return [...dots, ...backslashes].map((dot) => `${before}${dot}${after}`);
    });

  test('a path that a URL parser would change reaches no route', async () => {
    for (const path of paths()) {
      for (const changed of changedFormsOf(path)) {
        const { reached } = await answerTo(`${changed}?x=1`);
        expect([changed, reached]).toEqual([changed, [expect.stringMatching(/^\/?unknown$/)]]);
      }
    }
  });

  test('a parameter that a URL parser would change reaches no route', async () => {
    const changed = [
      '.',
      '..',
      '%2e',
      '%2E%2e',
      '.%2e',
      '\\',
      'x\\',
      '%\\x',
      '%e3\\x',
      'x\\..\\x',
      'x\\..\\%5C',
      'x\\..',
    ];
    for (const { path } of app.routes.filter((route) => route.path.includes(':'))) {
      for (const parameter of changed) {
        const { reached } = await answerTo(path.replace(/:\w+/, parameter));
        expect([path, parameter, reached]).toEqual([
          path,
          parameter,
          [expect.stringMatching(/^\/?unknown$/)],
        ]);
      }
    }
  });

  test('an escaped parameter reaches its route, and so does any query', async () => {
    for (const path of paths()) {
      for (const query of ['', '?a=/../b', '?a=\\', '?//', '?q=é']) {
        const { reached } = await answerTo(path + query);
        expect([path, query, reached]).toEqual([path, query, [expect.not.stringMatching(/unknown/)]]);
      }
    }
    for (const parameter of ['%5C', '%2F', '%00', '%ff', '%zz', '%', 'a%5Cb', '...', '"<>`{}|^', 'é']) {
      expect(await answerTo(`/api/v1/companies/${parameter}`)).toEqual({
        status: '200',
        reached: ['/api/v1/companies/{nif}'],
      });
    }
  });

  test('no route has a wildcard, which would match a path that a URL parser changes', () => {
    expect(app.routes.filter(({ path }) => path.includes('*'))).toEqual([]);
  });

  test.each([
    ['is escaped', `a${'%CD%84'.repeat(50)}`],
    ['is no ASCII', 'é'],
    ['is long', 'a'.repeat(301)],
  ])('every path refuses a Host that %s', async (_, host) => {
    const paths = [...app.routes.map((route) => requestTo(route).path), '/nothing', '/dashboard/x'];
    reached.length = 0;
    const answers = await Promise.all(
      paths.map((path) =>
        sendRaw({ baseUrl }, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      ),
    );
    expect(new Set(answers.map((answer) => answer.split(' ')[1]))).toEqual(new Set(['400']));
    expect(reached).toEqual([]);
  });

  test('the router gets none in place of a long parameter, which it would unescape', async () => {
    for (const route of app.routes.filter(({ path }) => path.includes(':'))) {
      const usual = await answerOf(route, '1.1', 'Host: a\r\n');
      const long = { ...route, path: route.path.replace(/:\w+/, '%41'.repeat(400)) };
      for (const [protocol, host] of [
        ['1.1', 'Host: a\r\n'],
        ['1.1', 'Host: a b\r\n'],
        ['1.0', ''],
      ] as const)
        expect([route.path, await answerOf(long, protocol, host)]).toEqual([route.path, usual]);
    }
  });

  test('a request without a Host keeps its peer address, so the dashboard limits each visitor alone', async () => {
    for (const peer of ['127.0.0.1', '127.0.0.2']) {
      peers.length = 0;
      await sendRaw({ baseUrl }, 'GET /dashboard HTTP/1.0\r\n\r\n', peer);
      expect(peers).toEqual([peer]);
    }
  });

  test('the metrics are read at localhost by name or address only: no Host is not localhost', async () => {
    const ask = (protocol: string, host: string) =>
      sendRaw({ baseUrl }, `GET /metrics HTTP/${protocol}\r\n${host}Connection: close\r\n\r\n`);
    expect(await ask('1.0', 'Host: localhost\r\n')).toStartWith('HTTP/1.1 200');
    expect(await ask('1.0', '')).toStartWith('HTTP/1.1 404');
    for (const host of ['', ':80', 'a b', 'localhost/', 'localhost?', 'localhost:1:2']) {
      expect([host, (await ask('1.1', `Host: ${host}\r\n`)).split(' ')[1]]).toEqual([host, '404']);
    }
  });
});
