/** Requests of the dashboard: how many a client has, and how a form arrives. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import type { Socket } from 'node:net';
import type { DashboardParts } from '../../../src/dashboard/context.ts';
import { createDashboard } from '../../../src/dashboard/dashboard.ts';
import { networkOf } from '../../../src/dashboard/request/client-address.ts';
import { createRequestLimit } from '../../../src/dashboard/request/request-limit.ts';
import * as requestHandler from '../../../src/dashboard/request-handler.ts';
import { createProcessRateLimiter } from '../../../src/metering/rate-limit/process.ts';
import { call, sendText } from '../../support/client.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor, formTokenOf, makeKey, signUp } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

function setUp() {
  let nowMs = 1000;
  const rateLimiter = createProcessRateLimiter(() => nowMs * 1000);
  const limit = createRequestLimit(rateLimiter, () => nowMs);
  const client = (knownUser: string | null, address = '192.0.2.1') => ({
    cookie: null,
    knownUser,
    address,
    isShared: false,
    language: 'en' as const,
    userAgent: null,
  });
  const takeAll = async (of: ReturnType<typeof client>, userId: string | null) => {
    let taken = 0;
    while (await limit.take(of, userId)) taken += 1;
    return taken;
  };
  return { limit, client, takeAll, pass: (ms: number) => (nowMs += ms) };
}

describe('the buckets', () => {
  test('a member has 120 requests, from all browsers together, and two a second after that', async () => {
    const { limit, client, takeAll, pass } = setUp();
    expect(await takeAll(client('maria'), 'maria')).toBe(120);
    const second = client('maria', '192.0.2.2');
    expect(await limit.take(second, 'maria')).toBe(false);
    expect(await limit.take(client('rui', '192.0.2.2'), 'rui')).toBe(true);
    pass(500);
    expect(await limit.take(second, 'maria')).toBe(true);
    expect(await limit.take(second, 'maria')).toBe(false);
  });

  test('a client that was refused is paused for five seconds, wherever it is', async () => {
    const { limit, client, takeAll, pass } = setUp();
    const refused = client('maria');
    expect(limit.isPaused(refused)).toBe(false);
    await takeAll(refused, 'maria');
    expect(limit.isPaused(client('maria', '192.0.2.9'))).toBe(true);
    expect(limit.isPaused(client('rui'))).toBe(false);
    expect(limit.isPaused(client(null))).toBe(false);
    pass(4999);
    expect(limit.isPaused(refused)).toBe(true);
    pass(1);
    expect(limit.isPaused(refused)).toBe(false);
    expect(await limit.take(refused, 'maria')).toBe(true);
  });

  test('a browser whose session has ended has the tokens of a visitor for itself; its user and other visitors keep theirs', async () => {
    const { limit, client, takeAll } = setUp();
    expect(await takeAll(client('maria'), null)).toBe(300);
    expect(await limit.take(client(null), null)).toBe(true);
    const { limit: other, takeAll: takeOthers } = setUp();
    await takeOthers(client('maria'), null);
    expect(other.isPaused(client('maria'))).toBe(true);
    expect(other.isPaused(client('maria', '192.0.2.9'))).toBe(false);
    expect(other.isPaused(client('rui'))).toBe(false);
    expect(other.isPaused(client(null))).toBe(false);
    expect(await other.take(client('maria', '192.0.2.9'), 'maria')).toBe(true);
  });

  test('a session in the browser of another user pauses that browser alone, and one without a cookie pauses no visitor', async () => {
    const { limit, client, takeAll } = setUp();
    expect(await takeAll(client('maria'), 'rui')).toBe(120);
    expect(limit.isPaused(client('maria'))).toBe(true);
    expect(await takeAll(client(null), 'ana')).toBe(120);
    for (const other of [client('maria', '192.0.2.9'), client('rui'), client(null)])
      expect([other, limit.isPaused(other)]).toEqual([other, false]);
  });

  test('visitors share 300 requests an address, an IPv6 /64 counting as one', async () => {
    const { limit, client, takeAll } = setUp();
    expect(await takeAll(client(null, '2001:db8:1:2::1'), null)).toBe(300);
    expect(await limit.take(client(null, '2001:db8:1:2:ffff::7'), null)).toBe(false);
    expect(limit.isPaused(client(null, '2001:db8:1:2::9'))).toBe(true);
    expect(await limit.take(client(null, '2001:db8:1:3::1'), null)).toBe(true);
  });

  test('networks', () => {
    for (const [address, network, bits] of [
      ['192.0.2.1', '192.0.2.1'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:0DB8:0001::', '2001:db8:1:0::/64'],
      ['::1', '0:0:0:0::/64'],
      ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
      ['2001:db8:1:2::5', '2001:db8:1::/48', 48],
      ['192.0.2.1', '192.0.2.1', 48],
    ] as const)
      expect([address, networkOf(address, bits)]).toEqual([address, network]);
  });
});

test('a member who asks for too many pages is told to wait; other members and the API bucket are not touched', async () => {
  const [{ visitor }, { visitor: other }] = [await createMember(service), await createMember(service)];
  const ask = () => visitor.get('/dashboard/settings/name');
  let answer = await ask();
  for (let count = 0; count < 200 && answer.status === 200; count += 1) answer = await ask();
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '5']);
  expect(answer.textOf('h1')).toBe('Too many requests');
  const form = await visitor.post('/dashboard/keys', { name: 'x' });
  expect([form.status, form.headers.get('cache-control')]).toEqual([429, 'private, no-store']);
  // The form was not read, so the page can't hold it.
  expect(form.countOf('form')).toBe(0);
  expect(form.textOf('main')).toContain('Reload this page to send the form again.');
  expect((await other.get('/dashboard')).status).toBe(200);
  const { body } = await call(service.url, '/usage', { key: await makeKey(other) });
  expect(body.data.rateLimit.remaining).toBe(19);
});

const requests = ({ logLines }: TestService) => logLines.filter((line) => line.msg === 'request');
const errors = () => service.logLines.filter((line) => Number(line.level) >= 50);

test('more people sign up at once than the dashboard has connections, and all get in', async () => {
  const visitors = Array.from({ length: 8 }, () => createVisitor(service.baseUrl));
  const accounts = await Promise.all(visitors.map((visitor) => signUp(visitor)));
  expect(new Set(accounts.map(({ accountId }) => accountId)).size).toBe(8);
});

test('a form that waits for its account’s lock gives up soon, says so, and is no error of the service', async () => {
  const [{ visitor, accountId }, { visitor: other }] = [
    await createMember(service),
    await createMember(service),
  ];
  const form_token = await formTokenOf(visitor, '/dashboard/keys');
  await service.sql.begin(async (sql) => {
    await sql`SELECT 1 FROM accounts WHERE id = ${accountId} FOR UPDATE`;
    const forms = Array.from({ length: 8 }, () => visitor.post('/dashboard/keys', { name: 'x', form_token }));
    const pages = await Promise.all([other.get('/dashboard'), ...forms]);
    expect(pages.map(({ status }) => status)).toEqual([200, ...forms.map(() => 503)]);
    const busy = pages[1]!;
    expect([busy.textOf('h1'), busy.headers.get('retry-after')]).toEqual(['The dashboard is busy', '1']);
    // As the table of states has it, with the form to send again.
    expect(busy.textOf('.lead')).toBe(
      'The service is overloaded at the moment. Nothing was charged. Try again in a moment.',
    );
    expect(busy.valueOf('#retry [name=name]')).toBe('x');
  });
  expect(errors()).toEqual([]);
  expect((await visitor.submit('/dashboard/keys', { name: 'x' })).status).toBe(200);
});

test('the dashboard has four connections to itself, however many requests come at once', async () => {
  const { visitor } = await createMember(service);
  const answers = await Promise.all(Array.from({ length: 60 }, () => visitor.get('/dashboard')));
  const statuses = answers.map(({ status }) => status);
  // On a slow machine the last ones may wait for too long.
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(12);
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  const [connections] = await service.sql<{ count: number }[]>`
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query ~ 'dashboard_sessions' AND application_name LIKE '%serve'`;
  expect(connections!.count).toBeLessThanOrEqual(4);
  expect(errors()).toEqual([]);
});

test('the first visitors, who come together, share the bounds of one dashboard', async () => {
  const opened = spyOn(requestHandler, 'createRequestHandler');
  const { baseUrl, sql, config } = service;
  const dashboard = await createDashboard({
    ...{ sql, publicUrl: baseUrl, config, log: { warn() {}, error() {} } },
    ...{ rateLimiter: createProcessRateLimiter(), stopping: new AbortController().signal },
    observer: {
      observe: (_: Request, _route: string, answer: (trace: object) => unknown) => answer({ requestId: 'x' }),
    },
  } as unknown as DashboardParts);
  const visit = () => dashboard.handle(new Request(`${baseUrl}/dashboard/sign-in`), null, '/sign-in');
  const answers = await Promise.all([visit(), visit(), visit()]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(opened).toHaveBeenCalledTimes(1);
  opened.mockRestore();
  await dashboard.close();
});

const HEAD =
  'POST /dashboard/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded';

const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

const chunks = `1f40\r\n${'x'.repeat(8000)}\r\n`.repeat(10);

test.each([
  ['a sender that leaves in the middle of a form', 'Content-Length: 9\r\n\r\na', null, '', 499],
  ['a body whose chunks are broken', `${CHUNKED}1\r\na\r\n`, 'zz\r\nabc\r\n', 'HTTP/1.1 400', 499],
  ['a form over 64 KiB in chunks', `${CHUNKED}${chunks}0\r\n\r\n`, '', 'HTTP/1.1 413', 413],
] as const)('%s is logged as that, and is no fault', async (_, text, rest, answer, status) => {
  const before = requests(service).length;
  const { socket, closed } = await sendText(service.baseUrl, `${HEAD}\r\n${text}`);
  if (rest === null) socket.end();
  else {
    socket.write(rest);
    expect(await closed).toStartWith(answer);
  }
  await until('the log line', async () => requests(service).length > before);
  expect(requests(service)[before]!.status).toBe(status);
  expect(errors()).toEqual([]);
});

test('a body that no page reads is dropped, and its connection answers the next request', async () => {
  const body = 'GET /dashboard/stolen HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.padEnd(190_000, 'x');
  const post = (path: string, headers = '') =>
    `POST /dashboard${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n`;
  const next = 'GET /dashboard/assets/x HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n';
  for (const [head, status] of [
    [post('/nothing'), 404],
    [post('/credits'), 405],
    [post('/keys/x/revoke'), 403],
  ] as const) {
    const { socket, closed } = await sendText(service.baseUrl, head + body.slice(0, 1000));
    socket.write(body.slice(1000) + next);
    const statuses = [...(await closed).matchAll(/HTTP\/1.1 (\d+)/g)].map(([, text]) => Number(text));
    expect(statuses).toEqual([status, 404]);
  }
});

test('a form that trickles in is answered 408 after ten seconds, however many bytes come', async () => {
  const { socket, closed } = await sendText(service.baseUrl, `${HEAD}\r\nContent-Length: 9000\r\n\r\na`);
  using _trickle = keepSending(socket);
  expect(await closed).toStartWith('HTTP/1.1 408');
});

test('a form that trickles in is given up at a stop, and the request counts as refused', async () => {
  const stopped = await startDashboardService();
  const { socket, closed } = await sendText(stopped.baseUrl, `${HEAD}\r\nContent-Length: 9000\r\n\r\na`);
  using _trickle = keepSending(socket);
  await fetch(`${stopped.baseUrl}/dashboard/sign-in`); // the dashboard is open, and reads the form
  await stopped.stop();
  expect(await closed).toStartWith('HTTP/1.1 503');
  expect(stopped.logLines.some((line) => line.msg === 'requests were cut off')).toBe(false);
  expect(requests(stopped).some((line) => line.status === 503)).toBe(true);
});

function keepSending(socket: Socket) {
  const timer = setInterval(() => socket.write('a'), 100);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
