/** Sessions: how long they last, what ends them, and their list. */
import { afterAll, expect, spyOn, test } from 'bun:test';
import { invite } from '../../../src/dashboard/account/invitations.ts';
import { browserName } from '../../../src/dashboard/account/settings.ts';
import { removeExpired } from '../../../src/dashboard/account-data/wings.ts';
import { type MemberRoute, ROUTES } from '../../../src/dashboard/routes.ts';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { hold, waitingForLock } from '../../support/locks.ts';
import { until } from '../../support/until.ts';
import { agentOf, authorizePath } from '../connections/agent.ts';
import { startMailedDashboard } from '../service.ts';
import {
  codeOf,
  createMember,
  createVisitor,
  enrolled,
  fieldsOf,
  formTokenOf,
  linkTo,
  newPerson,
  type PageAnswer,
  type Person,
  signUpByMail,
  type Visitor,
} from '../visitor.ts';

const NEW = 'another long password';
const SETTINGS = '/dashboard/settings';
const SECOND_FACTOR = `${SETTINGS}/second-factor`;
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

const visit = () => createVisitor(service.baseUrl);
const statusOf = async (visitor: Visitor) => (await visitor.get('/dashboard')).status;
const sessionsOf = ({ userId }: { userId: string }) =>
  service.sql`SELECT "id" FROM dashboard_sessions WHERE "userId" = ${userId}`;

test('a session ends after 30 days, however often it is used', async () => {
  const { visitor, ...person } = await createMember(service);
  const begin = (days: number) => service.sql`
    UPDATE dashboard_sessions SET "createdAt" = now() - ${days} * interval '1 day', "expiresAt" = now() + interval '5 days'
    WHERE "userId" = ${person.userId}`;
  await begin(29.9);
  expect(await statusOf(visitor)).toBe(200);
  await removeExpired(service.sql);
  expect((await sessionsOf(person)).length).toBe(1);
  await begin(30);
  expect(await statusOf(visitor)).toBe(303);
  await removeExpired(service.sql);
  expect((await sessionsOf(person)).length).toBe(0);
});

test('a browser keeps each cookie for its time (docs/data-protection.md)', async () => {
  const [visitor, other, person] = [visit(), visit(), await createMember(service)];
  const agent = agentOf('https://agent.example/client.json');
  const answers = [
    await visitor.get('/dashboard/sign-in?lang=en'),
    await visitor.get(authorizePath(agent)),
    await visitor.submit('/dashboard/sign-up', { ...newPerson() }),
    await visitor.submit('/dashboard/sign-in', { ...(await enrolled(service)).person }),
    await other.submit('/dashboard/sign-in', { ...person }),
    await other.get('/dashboard'),
  ];
  const cookies = answers.flatMap(({ headers }) => headers.getSetCookie());
  const days = (cookie: string) => Number(/ Max-Age=(\d+)/.exec(cookie)?.[1]) / 86_400;
  expect(Object.fromEntries(cookies.map((cookie) => [cookie.split('=')[0], days(cookie)]))).toEqual({
    'dashboard.form': Number.NaN, // it ends with the browser
    'dashboard.session_data': 0, // removed
    'dashboard.connect': 600 / 86_400,
    'dashboard.two_factor': 600 / 86_400,
    'dashboard.sign_up': 1,
    'dashboard.session_token': 7,
    'dashboard.browser': 180,
    'dashboard.language': 365,
  });
});

test('a user has fifty sessions at most: a further sign-in ends the oldest', async () => {
  const [first, visitor] = [visit(), visit()];
  const person = await createMember(service, { visitor: first });
  await service.sql`
    INSERT INTO dashboard_sessions ("id", "expiresAt", "token", "createdAt", "updatedAt", "userId")
    SELECT ${person.userId} || n, now() + interval '1 day', ${person.userId} || n, now() + n * interval '1 ms', now(), ${person.userId}
    FROM generate_series(1, 49) n`;
  expect([await statusOf(first), (await sessionsOf(person)).length]).toEqual([200, 50]);
  expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(303);
  expect([await statusOf(first), await statusOf(visitor)]).toEqual([303, 200]);
  expect((await sessionsOf(person)).length).toBe(50);
});

test('suspending an account ends the sessions of its members, and no others; pages say the reason, after a link and after a form, in a browser of a member alone', async () => {
  const [visitor, other, stranger] = [visit(), visit(), visit()];
  const { accountId } = await createMember(service, { visitor });
  await createMember(service, { visitor: other });
  const name = `${SETTINGS}/name`;
  const form_token = await formTokenOf(visitor, name);
  await setSuspended(service.sql, accountId, true, 'test', 'Invoice 17 is overdue');
  expect([await statusOf(visitor), await statusOf(other)]).toEqual([303, 200]);
  other.cookies.delete('dashboard.session_token');
  const said = expect.stringContaining('Reason: Invoice 17 is overdue');
  for (const [browser, notice] of [
    [visitor, said],
    [other, null],
    [stranger, null],
  ] as const) {
    const answers = [
      await browser.post(name, { form_token, name: 'Other' }),
      await browser.get((await browser.get('/dashboard')).headers.get('location')!),
    ];
    expect(answers.map(({ status, textOf }) => [status, textOf('.notice')])).toEqual([
      [403, notice],
      [200, notice],
    ]);
  }
});

/** Holds every statement that writes a session at the given point, until `go` is called. */
async function pausing(
  point: 'BEFORE INSERT' | 'AFTER DELETE',
  during: (go: () => Promise<void>) => Promise<void>,
) {
  const LOCK = 4711;
  // Longer than the service waits for other locks.
  await service.sql.unsafe(`
    CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = '10s' AS
    $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${LOCK}); RETURN NEW; END $$;
    CREATE TRIGGER pause ${point} ON dashboard_sessions FOR EACH ROW EXECUTE FUNCTION pause()`);
  const { release } = await hold(service.sql, (sql) => sql`SELECT pg_advisory_xact_lock(${LOCK})`);
  try {
    await during(release);
  } finally {
    await release();
    await service.sql.unsafe('DROP TRIGGER pause ON dashboard_sessions; DROP FUNCTION pause()');
  }
}

/** The link of a reset. */
async function startReset({ email }: Person): Promise<string> {
  await visit().submit('/dashboard/forgot', { email });
  return linkTo(mail, email);
}

type Member = Awaited<ReturnType<typeof createMember>>;

/** A change by a member meanwhile, the page that it leads to, and how many sessions are left. */
type Change = { change: () => Promise<PageAnswer>; to: string; left: number };
const CHANGES: Record<string, (member: Member) => Promise<Change>> = {
  async 'a reset sets another password'(member) {
    const link = await startReset(member);
    const change = () => visit().submit(link, { password: NEW });
    return { change, to: '/dashboard/sign-in?done=password', left: 0 };
  },
  async 'an invitation sets another password'({ accountId, email }) {
    const { token } = await invite(service.sql, { accountId, email }, 'test');
    const change = () => visit().submit(`/dashboard/invitation?token=${token}`, { name: 'x', password: NEW });
    return { change, to: '/dashboard', left: 1 };
  },
  async 'the second factor is turned on'({ visitor, password }) {
    const setUp = await visitor.submit(SECOND_FACTOR, { present: password });
    const code = codeOf(setUp.textOf('#secret')!);
    const change = () => visitor.post(`${SECOND_FACTOR}/confirm`, { ...fieldsOf(setUp), code });
    return { change, to: `${SECOND_FACTOR}?done=on`, left: 1 };
  },
};

test.each(Object.entries(CHANGES))(
  'a sign-in keeps no session when %s between its check of the password and its session',
  async (_, prepare) => {
    const member = await createMember(service);
    const { change, to, left } = await prepare(member);
    const late = visit();
    await pausing('BEFORE INSERT', async (go) => {
      const signIn = late.submit('/dashboard/sign-in', { ...member });
      await waitingForLock(service.sql, 1);
      // The session that replaces the present one waits as well.
      const changed = change();
      await until('the change', async () => (await sessionsOf(member)).length === 0);
      await go();
      expect((await signIn).status).toBe(401);
      const { status, headers } = await changed;
      expect([status, headers.get('location')]).toEqual([303, to]);
    });
    expect([await statusOf(late), (await sessionsOf(member)).length]).toEqual([303, left]);
  },
);

test('a sign-in keeps no session when it falls between the end of the sessions and the new password of a reset', async () => {
  const person = await createMember(service);
  const link = await startReset(person);
  const between = visit();
  await pausing('AFTER DELETE', async (go) => {
    const done = visit().submit(link, { password: NEW });
    await waitingForLock(service.sql, 1);
    expect((await between.submit('/dashboard/sign-in', { ...person })).status).toBe(303);
    expect(await statusOf(between)).toBe(200);
    await go();
    expect((await done).status).toBe(303);
  });
  expect([await statusOf(between), (await sessionsOf(person)).length]).toEqual([303, 0]);
});

/** Signs in from an address, with a browser. */
async function signIn({ email, password }: Omit<Person, 'name'>, address: string, userAgent = FIREFOX) {
  const visitor = createVisitor(service.baseUrl, { address });
  const fields = { form_token: await formTokenOf(visitor), email, password };
  const answer = await visitor.post('/dashboard/sign-in', fields, { 'User-Agent': userAgent });
  expect(answer.status).toBe(303);
  return visitor;
}

test('the list has browser, times and address of each session, tells which is the present one, and holds no secret', async () => {
  const { visitor: own, ...person } = await createMember(service);
  const other = await signIn(person, '203.0.113.7');
  const third = await signIn(person, '2001:db8:1:2:3:4:5:6', `<script>${'x'.repeat(500)}`);
  await createMember(service);
  await signIn(person, '203.0.113.99');
  await service.sql`
    UPDATE dashboard_sessions SET "createdAt" = now() - interval '31 days' WHERE "ipAddress" = '203.0.113.99'`;
  const page = await own.get(SETTINGS);
  const rows = page.cellsOf('#sessions tbody tr');
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
  const [other, stranger] = [await signIn(person, '203.0.113.8'), createVisitor(service.baseUrl)];
  await createMember(service, { visitor: stranger });
  const answer = await own.submit(SETTINGS, {}, { form: '#sessions form' });
  expect(answer.place()).toEqual([303, `${SETTINGS}?done=ended`]);
  expect([await statusOf(own), await statusOf(other), await statusOf(stranger)]).toEqual([200, 303, 200]);
  const page = await own.get(`${SETTINGS}?done=ended`);
  expect(page.textOf('[role=status]')).toBe('You are signed out everywhere else.');
  expect(page.document.querySelectorAll('#sessions tbody tr')).toHaveLength(1);
  expect(page.document.querySelector('#sessions form')).toBeNull();
  // With no other session it is no event of the account.
  const form_token = await formTokenOf(own, SETTINGS);
  expect((await own.post(`${SETTINGS}/sessions`, { form_token })).status).toBe(303);
  const history = await own.get('/dashboard/settings/history');
  expect(history.textsOf('td[data-label=Event]')).toEqual(['Signed out on other devices', 'Account created']);
});

test('settings that are read while their session ends are no fault', async () => {
  const { visitor, userId } = await createMember(service);
  const route = ROUTES['/settings'] as Required<MemberRoute>;
  const { GET } = route;
  const reading = spyOn(route, 'GET').mockImplementationOnce(async (context) => {
    await service.sql`DELETE FROM dashboard_sessions WHERE "userId" = ${userId}`;
    return GET(context);
  });
  const page = await visitor.get(SETTINGS);
  reading.mockRestore();
  expect([page.status, page.countOf('#sessions tbody tr')]).toEqual([200, 0]);
});

test('of two browsers that sign each other out, the one whose session has ended first ends none, and says so', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { visitor: own, ...person } = await createMember(service);
    const other = await signIn(person, '203.0.113.11');
    // Before either is signed out.
    const tokens = [await formTokenOf(own, SETTINGS), await formTokenOf(other, SETTINGS)];
    const answers = await Promise.all(
      [own, other].map((visitor, at) => visitor.post(`${SETTINGS}/sessions`, { form_token: tokens[at] })),
    );
    const done = answers.filter(({ headers }) => headers.get('location')?.includes('done=ended'));
    const left = [await statusOf(own), await statusOf(other)].filter((status) => status === 200);
    const [row] = await service.sql`
      SELECT count(*) AS events FROM account_events WHERE account_id = ${person.accountId} AND kind = 'sessions-ended'`;
    expect([done.length, row!.events]).toEqual([2 - left.length, 2 - left.length]);
  }
});

test('the last use is exact to ten minutes', async () => {
  const { visitor: own, userId } = await createMember(service);
  for (const [passed, used] of [
    [8, 8],
    [11, 0],
  ] as const) {
    await service.sql`
      UPDATE dashboard_sessions SET "updatedAt" = now() - ${passed} * interval '1 minute',
        "expiresAt" = now() - ${passed} * interval '1 minute' + interval '7 days'
      WHERE "userId" = ${userId}`;
    await own.get('/dashboard');
    const [row] = await service.sql`
      SELECT (extract(epoch FROM now() - "updatedAt") / 60)::integer AS minutes FROM dashboard_sessions WHERE "userId" = ${userId}`;
    expect([passed, row!.minutes]).toEqual([passed, used]);
  }
});

const webkit = (system: string, rest: string) =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) ${rest}`;

test.each([
  ['Firefox, Windows', FIREFOX],
  ['Safari, macOS', webkit('Macintosh; Intel Mac OS X 10_15_7', 'Version/26.0 Safari/605.1.15')],
  [
    'Safari, iOS',
    webkit('iPhone; CPU iPhone OS 26_0 like Mac OS X', 'Version/26.0 Mobile/15E148 Safari/604.1'),
  ],
  ['Chrome, Android', webkit('Linux; Android 10; K', 'Chrome/153.0.0.0 Mobile Safari/537.36')],
  ['Edge, Windows', webkit('Windows NT 10.0; Win64; x64', 'Chrome/153.0.0.0 Safari/537.36 Edg/153.0.0.0')],
  ['Chrome, Linux', webkit('X11; Linux x86_64', 'HeadlessChrome/153.0.0.0 Safari/537.36')],
  ['curl/8.14.1', 'curl/8.14.1'],
])('a browser is named %s', (name, userAgent) => expect(browserName(userAgent)).toBe(name));

test('every step of a sign-in is logged with the address, the member and the account, and no secret', async () => {
  const address = '203.0.113.40';
  const visitor = createVisitor(service.baseUrl, { address });
  const person = newPerson();
  const { accountId } = await signUpByMail(visitor, mail, person);
  const [user] = await service.sql`SELECT "id" FROM dashboard_users WHERE "email" = ${person.email}`;
  await visitor.submit('/dashboard/sign-in', { ...person }).catch(() => {}); // signed in: there is no form
  await visitor.submit('/dashboard/settings', { present: 'not the password', password: 'second password' });
  await visitor.submit('/dashboard/settings', { present: person.password, password: 'second password' });
  await visitor.submit('/dashboard', {}, { form: 'form.sign-out' });
  await visitor.submit('/dashboard/sign-in', { ...person, password: 'not the password' });
  await visitor.submit('/dashboard/sign-in', { ...newPerson() });
  await mail.mailTo(person.email); // the password was changed
  await visitor.submit('/dashboard/forgot', { email: person.email });
  const link = await linkTo(mail, person.email);
  await visitor.submit(link, { password: 'third password' });
  const { token } = await invite(service.sql, { accountId, email: person.email }, 'test');
  await visitor.submit(`/dashboard/invitation?token=${token}`, { name: 'x', password: 'fourth password' });
  await service.sql`UPDATE dashboard_attempts SET attempts = 100 WHERE key LIKE 'guess %'`;
  await createVisitor(service.baseUrl, { address }).submit('/dashboard/sign-in', { ...person });

  const unknown = { address, keepDays: 30, level: 30 };
  const known = { ...unknown, member: user!.id, account: accountId };
  const logged = service.logLines.filter((line) => line.msg === 'security' && line.address === address);
  expect(logged.map(({ time: _time, requestId: _requestId, msg: _msg, ...event }) => event)).toEqual([
    { ...unknown, event: 'sign-up' },
    { ...unknown, member: user!.id, event: 'sign-in' }, // the first: the account is made after it
    { ...known, event: 'password check failed' },
    { ...known, event: 'password changed' },
    { ...known, event: 'sign-out' },
    { ...known, event: 'sign-in failed' },
    { ...unknown, event: 'sign-in failed' },
    { ...known, event: 'password reset' },
    { ...known, event: 'invitation accepted' },
    { ...known, event: 'sign-in' },
    { ...known, event: 'sign-in refused' },
  ]);
  const written = JSON.stringify(service.logLines);
  const tokens = [token, link.split('=')[1]!, 'token='];
  for (const secret of [person.email, '@', person.password, 'password"', 'not the password', ...tokens])
    expect([secret, written.includes(secret)]).toEqual([secret, false]);
});
