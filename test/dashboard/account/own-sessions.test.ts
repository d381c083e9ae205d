/** The sessions of a member: listed, and ended except the present one. */
import { afterAll, describe, expect, test } from 'bun:test';
import { browserName } from '../../../src/dashboard/account/settings.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor, formTokenOf, type Visitor } from '../visitor.ts';

const SETTINGS = '/dashboard/settings';
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0';

const service = await startDashboardService();
afterAll(() => service.stop());

const statusOf = async (visitor: Visitor) => (await visitor.get('/dashboard')).status;

/** Signs in from an address, with a browser. */
async function signIn(person: { email: string; password: string }, address: string, userAgent: string) {
  const visitor = createVisitor(service.baseUrl, { address });
  const { email, password } = person;
  const fields = { form_token: await formTokenOf(visitor), email, password };
  const answer = await visitor.post('/dashboard/sign-in', fields, { 'User-Agent': userAgent });
  expect(answer.status).toBe(303);
  return visitor;
}

test('the list has browser, times and address of each session, tells which is the present one, and holds no secret', async () => {
  const { visitor: own, ...person } = await createMember(service);
  const other = await signIn(person, '203.0.113.7', FIREFOX);
  const third = await signIn(person, '2001:db8:1:2:3:4:5:6', `<script>${'x'.repeat(500)}`);
  await createVisitor(service.baseUrl).get('/dashboard');
  await createMember(service);
  await service.sql`
    UPDATE dashboard_sessions SET "createdAt" = now() - interval '31 days' WHERE "ipAddress" = '203.0.113.99'`;
  const page = await own.get(SETTINGS);
  const rows = [...page.document.querySelectorAll('#sessions tbody tr')].map((row) =>
    [...row.children].map((cell) => cell.textContent!.trim().replace(/\s+/g, ' ')),
  );
  expect(rows).toHaveLength(3);
  expect(rows.filter(([browser, , used]) => browser!.endsWith('This one') && used === 'now')).toHaveLength(1);
  expect(rows).toContainEqual(['Firefox, Windows', expect.any(String), expect.any(String), '203.0.113.7']);
  const hostile = `<script>${'x'.repeat(32)}`;
  expect(rows).toContainEqual([hostile, expect.any(String), expect.any(String), '2001:db8:1:2::/64']);
  for (const { cookies } of [own, other, third]) {
    expect(page.text).not.toContain(cookies.get('dashboard.session_token')!.slice(0, 20));
  }
});

test('“sign out the others” ends every other session of the member at once, and nobody else’s', async () => {
  const { visitor: own, ...person } = await createMember(service);
  const [other, stranger] = [await signIn(person, '203.0.113.8', FIREFOX), createVisitor(service.baseUrl)];
  await createMember(service, { visitor: stranger });
  const answer = await own.submit(SETTINGS, {}, { form: '#sessions form' });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, `${SETTINGS}?done=ended`]);
  expect([await statusOf(own), await statusOf(other), await statusOf(stranger)]).toEqual([200, 303, 200]);
  const page = await own.get(`${SETTINGS}?done=ended`);
  expect(page.textOf('[role=status]')).toBe('You are signed out everywhere else.');
  expect(page.document.querySelectorAll('#sessions tbody tr')).toHaveLength(1);
  expect(page.document.querySelector('#sessions form')).toBeNull();
  const history = await own.get('/dashboard/settings/history');
  expect(
    [...history.document.querySelectorAll('td[data-label=Event]')].map((cell) => cell.textContent),
  ).toEqual(['Signed out on other devices', 'Account created']);
});

test('settings that are read while their session ends are no fault', async () => {
  const { visitor, ...person } = await createMember(service);
  const others = await Promise.all(['203.0.113.9', '203.0.113.10'].map((at) => signIn(person, at, FIREFOX)));
  const form_token = await formTokenOf(visitor, SETTINGS);
  const answers = await Promise.all([
    visitor.post(`${SETTINGS}/sessions`, { form_token }),
    ...others.map((other) => other.get(SETTINGS)),
  ]);
  expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
});

test('with no other session, “sign out the others” is no event of the account', async () => {
  const { visitor } = await createMember(service);
  const form_token = await formTokenOf(visitor, SETTINGS);
  expect((await visitor.post(`${SETTINGS}/sessions`, { form_token })).status).toBe(303);
  expect((await visitor.get(`${SETTINGS}/history`)).text).not.toContain('Signed out on other devices');
});

test('of two browsers that sign each other out, the one whose session has ended first ends none, and says so', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { visitor: own, ...person } = await createMember(service);
    const other = await signIn(person, '203.0.113.11', FIREFOX);
    const sent = [own, other].map(async (visitor) => {
      const form_token = await formTokenOf(visitor, SETTINGS);
      return visitor.post(`${SETTINGS}/sessions`, { form_token });
    });
    const done = (await Promise.all(sent)).filter(({ headers }) =>
      /done=ended/.test(headers.get('location') ?? ''),
    );
    const left = [await statusOf(own), await statusOf(other)].filter((status) => status === 200);
    const [row] = await service.sql`
      SELECT count(*) AS events FROM account_events WHERE account_id = ${person.accountId} AND kind = 'sessions-ended'`;
    expect([done.length, row!.events]).toEqual([2 - left.length, 2 - left.length]);
  }
});

test('the last use is exact to ten minutes', async () => {
  const { visitor: own, email } = await createMember(service);
  const usedMinutesAgo = async () => {
    const [row] = await service.sql`
      SELECT (extract(epoch FROM now() - s."updatedAt") / 60)::integer AS minutes
      FROM dashboard_sessions s JOIN dashboard_users u ON u."id" = s."userId" WHERE u."email" = ${email}`;
    return row!.minutes;
  };
  const pass = (minutes: number) => service.sql`
    UPDATE dashboard_sessions SET "updatedAt" = now() - ${minutes} * interval '1 minute',
      "expiresAt" = now() - ${minutes} * interval '1 minute' + interval '7 days'
    WHERE "userId" = (SELECT "id" FROM dashboard_users WHERE "email" = ${email})`;
  await pass(8);
  await own.get('/dashboard');
  expect(await usedMinutesAgo()).toBe(8);
  await pass(11);
  await own.get('/dashboard');
  expect(await usedMinutesAgo()).toBe(0);
});

describe('a browser’s name', () => {
  test.each([
    [FIREFOX, 'Firefox, Windows'],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
      'Safari, macOS',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1',
      'Safari, iOS',
    ],
    [
      'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Mobile Safari/537.36',
      'Chrome, Android',
    ],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36 Edg/153.0.0.0',
      'Edge, Windows',
    ],
    [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/153.0.0.0 Safari/537.36',
      'Chrome, Linux',
    ],
    ['curl/8.14.1', 'curl/8.14.1'],
  ])('%s is %s', (userAgent, name) => expect(browserName(userAgent)).toBe(name));
});
