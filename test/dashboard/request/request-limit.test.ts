/** Requests of the dashboard: how many a client has, the places that forms and documents take, and how a form arrives. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import type { Socket } from 'node:net';
import * as clientDocument from '../../../src/dashboard/connections/client-document.ts';
import type { DashboardParts } from '../../../src/dashboard/context.ts';
import { createDashboard } from '../../../src/dashboard/dashboard.ts';
import { networkOf } from '../../../src/dashboard/request/client-address.ts';
import { createRequestLimit } from '../../../src/dashboard/request/request-limit.ts';
import * as requestHandler from '../../../src/dashboard/request-handler.ts';
import { ROUTES } from '../../../src/dashboard/routes.ts';
import { createProcessRateLimiter } from '../../../src/metering/rate-limit/process.ts';
import { call, requestText, sendText } from '../../support/client.ts';
import { storeRecord } from '../../support/records.ts';
import { createCaller, type TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { agentOf, openConsent } from '../connections/agent.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor, formTokenOf, makeKey, signUp, type Visitor } from '../visitor.ts';

const NIF = '509442013';

const service = await startDashboardService();
await storeRecord(service.sql, NIF, 'Nexperience Lda');
afterAll(() => service.stop());

/** The user that a browser is known as, if any, and its address. */
type Who = [knownUser: string | null, address?: string];

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
  const MARIA: Who = ['maria'];
  const ELSEWHERE: Who = ['maria', '192.0.2.9'];
  const RUI: Who = ['rui', '192.0.2.9'];
  const VISITOR: Who = [null];
  const in48 = (rest: string): Who => [null, `2001:db8:1:${rest}`];
  test.each<[what: string, Who, userId: string | null, count: number, paused: Who[], others: Who[]]>([
    ['a member has 120 requests in all browsers', MARIA, 'maria', 120, [MARIA, ELSEWHERE], [RUI, VISITOR]],
    ['visitors share 300 requests an address', VISITOR, null, 300, [VISITOR], [MARIA, [null, '192.0.2.9']]],
    ['an IPv6 /64 is one', in48('2::1'), null, 300, [in48('2::9'), in48('2:ffff::7')], [in48('3::1')]],
    ['a browser whose session has ended is one', MARIA, null, 300, [MARIA], [ELSEWHERE, RUI, VISITOR]],
    ['a session in the browser of another', MARIA, 'rui', 120, [MARIA], [ELSEWHERE, RUI, VISITOR]],
    ['a session without a cookie', VISITOR, 'ana', 120, [], [VISITOR]],
  ])(
    '%s; a client that was refused is paused for five seconds (%j of user %j: %d; paused: %j; not: %j)',
    async (_, who, userId, count, paused, others) => {
      const { limit, client, takeAll, pass } = setUp();
      expect(limit.isPaused(client(...who))).toBe(false);
      expect(await takeAll(client(...who), userId)).toBe(count);
      expect(await limit.take(client(...(paused[0] ?? who)), userId)).toBe(false);
      for (const other of others) {
        expect([other, limit.isPaused(client(...other))]).toEqual([other, false]);
        // A user whose requests another browser has taken is not paused, but has none left.
        const hasLeft = await limit.take(client(...other), other[0]);
        expect([other, hasLeft]).toEqual([other, other[0] === null || other[0] !== userId]);
      }
      for (const ms of [4999, 1]) {
        for (const one of paused) expect([one, limit.isPaused(client(...one))]).toEqual([one, true]);
        pass(ms);
      }
      for (const one of paused) expect([one, limit.isPaused(client(...one))]).toEqual([one, false]);
      expect(await limit.take(client(...who), userId)).toBe(true);
    },
  );

  test('a member who has none left gets two a second', async () => {
    const { client, takeAll, pass } = setUp();
    await takeAll(client('maria'), 'maria');
    pass(500);
    expect(await takeAll(client('maria'), 'maria')).toBe(1);
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
  while (answer.status === 200) answer = await ask();
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

const newMember = async () => (await createMember(service)).visitor;
const newVisitor = async () => createVisitor(service.baseUrl);

// The queue of pages would take all forms with a password, and let four of them in.
test.each<[string, string, () => Promise<Visitor>, senders: number, forms: number, refusals: number[]]>([
  ['of one member', '/keys', newMember, 1, 20, []],
  ['with a password, of visitors,', '/sign-in', newVisitor, 4, 27, [503]],
  ['with a password, of members,', '/settings/members', newMember, 4, 27, [503]],
])(
  'forms %s take two places, and none of a page of others or of the API',
  async (_, path, createSender, count, sent, refusals) => {
    const senders = await Promise.all(Array.from({ length: count }, createSender));
    const tokens = await Promise.all(senders.map((sender) => formTokenOf(sender, `/dashboard${path}`)));
    const [member, visitor, { key }] = [
      await newMember(),
      await newVisitor(),
      await createCaller(service.sql),
    ];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { POST } = ROUTES[path]!;
    let held = 0;
    ROUTES[path]!.POST = async () => {
      held += 1;
      await released;
      return { redirect: '/dashboard' };
    };
    const statuses = new Set<number>();
    const send = async (_: unknown, index: number) => {
      const at = index % count;
      const { status } = await senders[at]!.post(`/dashboard${path}`, { form_token: tokens[at] });
      statuses.add(status);
    };
    const forms = Array.from({ length: sent }, send);
    try {
      // A refusal comes when all places and the queue are taken.
      await until('forms in all places', () => held >= 2 && statuses.size === refusals.length);
      const ask = (path: string) =>
        fetch(service.url + path, { headers: { Authorization: `Bearer ${key}` } });
      const answers = await Promise.all([
        ...[member.get('/dashboard'), visitor.get('/dashboard/sign-in')],
        ...[ask('/usage'), ask(`/companies/${NIF}`)],
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect([held, [...statuses]]).toEqual([2, refusals]);
    } finally {
      release();
      await Promise.all(forms);
      ROUTES[path]!.POST = POST as never;
    }
  },
);

test('agents whose documents are late take no place of a page', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let reads = 0;
  const reading = spyOn(clientDocument, 'createClientReader').mockReturnValue(async () => {
    reads += 1;
    await released;
    throw new clientDocument.ClientError('late');
  });
  const agent = agentOf('https://agent.example/client.json', 'https://agent.example/');
  const consents = [1, 2, 3, 4].map(async () => {
    const member = await newMember();
    return member.get(await openConsent(member, agent));
  });
  try {
    await until('all documents', () => reads === consents.length);
    expect((await (await newMember()).get('/dashboard')).status).toBe(200);
  } finally {
    release();
    for (const { status } of await Promise.all(consents)) expect(status).toBe(400);
    reading.mockRestore();
  }
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

test('a body that no page reads is no request, and its connection answers the next one', async () => {
  const body = requestText('GET /dashboard/sign-in').padEnd(190_000, 'x');
  const headers = { Connection: 'keep-alive', 'Content-Length': body.length };
  for (const [path, status] of [
    ['/nothing', 404],
    ['/credits', 405],
    ['/keys/x/revoke', 403],
  ] as const) {
    const head = requestText(`POST /dashboard${path}`, headers);
    const { socket, closed } = await sendText(service.baseUrl, head + body.slice(0, 1000));
    socket.write(body.slice(1000) + requestText('GET /dashboard/assets/x'));
    const statuses = [...(await closed).matchAll(/HTTP\/1.1 (\d+)/g)].map(([, text]) => Number(text));
    expect([path, ...statuses]).toEqual([path, status, 404]);
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
