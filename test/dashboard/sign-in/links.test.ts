/** Links that are mailed: of a sign-up, a forgotten password, a new email and an invitation. */
import { afterAll, describe, expect, test } from 'bun:test';
import { invite } from '../../../src/dashboard/account/invitations.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { until } from '../../support/until.ts';
import { startMailedDashboard } from '../service.ts';
import {
  createMember,
  createVisitor,
  formTokenOf,
  linkTo,
  newPerson,
  type PageAnswer,
  signUpByMail,
  type Visitor,
} from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard({ MAIL_FROM: 'Directory <hello@example.com>' });
afterAll(() => stop());

const visit = (language = 'en') => createVisitor(service.baseUrl, { language });
const accountsOf = async (email: string) =>
  (
    await service.sql`
      SELECT 1 FROM dashboard_members m JOIN dashboard_users u ON u."id" = m.user_id WHERE u."email" = ${email}`
  ).length;
const said = (answer: PageAnswer) => [answer.status, answer.textOf('[role=alert]')] as const;

async function timed<T>(work: Promise<T>): Promise<{ value: T; ms: number }> {
  const startMs = performance.now();
  const value = await work;
  return { value, ms: performance.now() - startMs };
}

describe('a sign-up', () => {
  test('is answered alike whether or not the email has an account; its owner reads which', async () => {
    const person = newPerson();
    await signUpByMail(visit(), mail, person);
    const [first, second] = [visit(), visit()];
    const taken = await timed(
      first.submit('/dashboard/sign-up', { ...person, email: person.email.toUpperCase() }),
    );
    const other = newPerson();
    const free = await timed(second.submit('/dashboard/sign-up', { ...other }));
    const shown = async ({ value }: typeof free, visitor: Visitor) => {
      const page = await visitor.get('/dashboard/sign-up/again');
      return [
        ...[value.status, value.headers.get('location'), page.status],
        ...[value.headers.getSetCookie().length, visitor.cookies.get('dashboard.sign_up')!.length],
        page.textOf('main')!.replace(/\S+@example\.com/i, 'ADDRESS'),
      ];
    };
    expect(await shown(taken, first)).toEqual(await shown(free, second));
    expect(taken.value.headers.get('location')).toBe('/dashboard/sign-up/again');
    // The shortest time of both is the same pause; how much longer either takes is not asserted.
    expect(Math.min(taken.ms, free.ms)).toBeGreaterThanOrEqual(395);

    const told = await mail.mailTo(person.email);
    expect(told.text).toContain('Open this link to choose a new password.');
    expect(told.text).toContain(`${service.baseUrl}/dashboard/reset?token=`);
    const sent = await mail.mailTo(other.email);
    expect(sent.text).toContain('confirm your email and choose a password');
    // From MAIL_FROM, with a link to PUBLIC_URL.
    expect(sent.from).toBe('hello@example.com');
    expect(sent.text).toContain(`${service.baseUrl}/dashboard/reset?token=`);
  });

  test('that is sent twice at once is answered alike, too: twice that a mail was sent', async () => {
    const member = await createMember(service);
    for (const { email } of [newPerson(), newPerson(), newPerson(), member]) {
      const visitors = [visit(), visit()];
      const tokens = await Promise.all(visitors.map((visitor) => formTokenOf(visitor, '/dashboard/sign-up')));
      const fields = { ...newPerson(), email };
      const answers = await Promise.all(
        visitors.map((visitor, index) =>
          visitor.post('/dashboard/sign-up', { ...fields, form_token: tokens[index] }),
        ),
      );
      expect(answers.map((answer) => [answer.status, answer.headers.get('location')])).toEqual(
        Array(2).fill([303, '/dashboard/sign-up/again']),
      );
    }
  });

  test('shows the address, and sends the link again', async () => {
    const visitor = visit();
    const person = newPerson();
    await visitor.submit('/dashboard/sign-up', { ...person });
    const page = await visitor.get('/dashboard/sign-up/again');
    expect([page.status, page.textOf('h1')]).toEqual([200, 'Check your email']);
    expect(page.textOf('.lead')).toStartWith(
      `A link for ${person.email} is on its way, unless five were sent`,
    );
    await mail.mailTo(person.email);
    const again = await visitor.submit('/dashboard/sign-up/again', {});
    expect([again.status, again.headers.get('location')]).toEqual([303, '/dashboard/forgot?done=sent']);
    expect(await linkTo(mail, person.email)).toStartWith('/dashboard/reset?token=');
  });

  test('asks for no password: it is chosen behind the link, which signs in once, in any browser', async () => {
    const visitor = visit();
    const { name, email, password } = newPerson();
    expect((await visitor.get('/dashboard/sign-up')).document.querySelector('#password')).toBeNull();
    await visitor.submit('/dashboard/sign-up', { name, email });
    const link = await linkTo(mail, email);
    const scanned = await visit().get(link); // as a mail scanner does
    // No file that the page loads is told the token, and its form still has an origin.
    expect(scanned.headers.get('referrer-policy')).toBe('strict-origin');
    expect(said(await visitor.submit(link, { password: 'short' }))[0]).toBe(422);
    expect((await visitor.get('/dashboard')).status).toBe(303);
    expect(await accountsOf(email)).toBe(0);
    const elsewhere = visit();
    // A session of another user in the browser is not in the way.
    await createMember(service, { visitor: elsewhere });
    const answer = await elsewhere.submit(link, { password });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/dashboard?done=confirmed']);
    const overview = await elsewhere.get('/dashboard?done=confirmed');
    expect([overview.status, overview.textOf('[role=status]')]).toEqual([200, 'Your address is confirmed.']);
    expect([overview.textOf('.account strong'), await accountsOf(email)]).toEqual([name, 1]);
    // Within its hour the link is no reset.
    expect((await visit().get(link)).status).toBe(404);
    expect((await visit().submit('/dashboard/sign-in', { email, password })).status).toBe(303);
  });

  test('of a stranger with the address of another person opens nothing to them', async () => {
    const [stranger, owner] = [visit(), visit()];
    const person = newPerson();
    await stranger.submit('/dashboard/sign-up', { ...person });
    const own = newPerson().password;
    await owner.submit(await linkTo(mail, person.email), { password: own });
    expect((await owner.get('/dashboard')).status).toBe(200);
    expect((await stranger.get('/dashboard')).status).toBe(303);
    expect((await stranger.submit('/dashboard/sign-in', { ...person })).status).toBe(401);
  });

  test('from before mail: its session is none, and its password has the link sent, not more', async () => {
    const { visitor, ...person } = await createMember(service);
    await service.sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${person.email}`;
    expect((await visitor.get('/dashboard')).status).toBe(303);
    const wrong: [number, string] = [
      401,
      'The email or the password is wrong, or the email is not confirmed yet: check your email.',
    ];
    for (const given of [{ ...person, password: 'not the password' }, newPerson(), person])
      expect(said(await visitor.submit('/dashboard/sign-in', { ...given }))).toEqual(wrong);
    const { password } = newPerson();
    await visitor.submit(await linkTo(mail, person.email), { password });
    expect((await visitor.get('/dashboard/settings')).textOf('dl code')).toBe(person.accountId);
    expect((await mail.mailTo(person.email)).text).toContain('Your password was changed');
    const kinds = (await loadHistory(service.sql, person.accountId)).map(({ kind }) => kind);
    expect(kinds).toContain('password-changed');
    expect((await visit().submit('/dashboard/sign-in', { ...person })).status).toBe(401);
  });
});

describe('a forgotten password', () => {
  test('is answered alike for an email that has no account', async () => {
    const person = await createMember(service);
    const known = await timed(visit().submit('/dashboard/forgot', { email: person.email }));
    const unknown = await timed(visit().submit('/dashboard/forgot', { email: newPerson().email }));
    const shown = ({ value }: typeof known) => [value.status, value.textOf('main')];
    expect(shown(known)).toEqual(shown(unknown));
    expect(Math.min(known.ms, unknown.ms)).toBeGreaterThanOrEqual(395);
    await mail.mailTo(person.email);
  });
});

test('no more than five mails an hour and purpose go to one address, and strangers are answered alike', async () => {
  const person = await createMember(service);
  const unknown = newPerson();
  for (let asked = 0; asked < 7; asked += 1) {
    for (const { email } of [person, unknown]) {
      const answer = await visit().submit('/dashboard/forgot', { email });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/dashboard/forgot?done=sent']);
    }
  }
  await until('five mails', () => mail.received(person.email) >= 5);
  const owner = await createMember(service);
  await owner.visitor.submit(
    '/dashboard/settings/members',
    { email: unknown.email, present: owner.password },
    { form: 'main section form' },
  );
  expect((await mail.mailTo(unknown.email)).text).toContain('invites you');
  for (let asked = 0; asked < 7; asked += 1) {
    expect((await visit().submit('/dashboard/sign-up', { ...person })).status).toBe(303);
  }
  expect([mail.received(person.email), mail.received(unknown.email)]).toEqual([5, 0]);
});

test('no page claims a mail that a silent limit may have kept back, and none tells whether an address is known', async () => {
  for (const [language, unless] of [
    ['en', 'unless five were sent this hour'],
    ['pt-PT', 'salvo se já foram enviadas cinco nesta hora'],
  ] as const) {
    const [person, unknown] = [await createMember(service), newPerson()];
    const send = async (path: string, fields: object) => {
      const visitor = visit(language);
      const form_token = await formTokenOf(visitor);
      const { headers } = await visitor.post(`/dashboard${path}`, { ...fields, form_token });
      return visitor.get(headers.get('location')!);
    };
    const pagesOf = async ({ email }: { email: string }) => {
      const pages = [await send('/sign-up', { name: 'Rita', email }), await send('/forgot', { email })];
      return pages.map((page) => page.textOf('main')!.replace(/\S+@example\.com/, 'EMAIL'));
    };
    for (const _ of ['with room', 'full']) {
      const pages = await pagesOf(person);
      expect(pages).toEqual(await pagesOf(unknown));
      for (const page of pages) expect(page).toContain(unless);
      await service.sql`UPDATE dashboard_attempts SET attempts = 5 WHERE starts_with(key, 'mail-')`;
    }
  }
});

describe('a link that does not work', () => {
  const FORGED = ['\0', `${'a'.repeat(23)}\0`, 'a', 'ã'.repeat(24), 'a.b.c', 'a'.repeat(10_000)];

  test.each([
    ['reset', ['/dashboard/forgot'], 'a'.repeat(24)],
    ['email', ['/dashboard/settings/email'], 'a'.repeat(32)],
    ['invitation', [], 'a'.repeat(32)],
  ] as const)(
    'of the kind %s is dead, leads to a new one, and does not leave in a Referer',
    async (kind, ways, rightShape) => {
      const visitor = visit();
      const logged = service.logLines.length;
      const choice = {
        name: 'Maria',
        password: 'correct horse battery',
        form_token: await formTokenOf(visitor),
      };
      for (const token of [...FORGED, rightShape]) {
        const opened = await visitor.get(`/dashboard/${kind}?token=${encodeURIComponent(token)}`);
        const sent = await visitor.post(`/dashboard/${kind}`, { ...choice, token });
        expect([token, opened.status, sent.status]).toEqual([token, 404, 404]);
        expect(opened.linksOf('main .button')).toEqual([...ways]);
        if (kind === 'invitation')
          expect(opened.textOf('main')).toContain('Ask the sender of the invitation');
        expect(opened.headers.get('referrer-policy')).toBe('strict-origin');
      }
      for (const status of [
        await visitor.get(`/dashboard/${kind}`),
        await visitor.post(`/dashboard/${kind}`, choice),
      ].map(({ status }) => status))
        expect(status).toBe(404);
      expect(service.logLines.slice(logged).filter((line) => Number(line.level) >= 50)).toEqual([]);
    },
  );

  test('because it is too old says so when it is opened, and when its form is sent', async () => {
    const { email } = await createMember(service);
    const visitor = visit();
    await visitor.submit('/dashboard/forgot', { email });
    const link = await linkTo(mail, email);
    const form_token = await formTokenOf(visitor, link);
    await service.sql`UPDATE dashboard_verifications SET "expiresAt" = now()`;
    const form = { token: link.split('=')[1]!, password: 'correct horse battery', form_token };
    const answers = [await visitor.get(link), await visitor.post('/dashboard/reset', form)];
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
  });
});

describe('a password', () => {
  const NEW = 'another long password';

  test('is reset by a link that works once, whole or not at all; every session ends, and guesses are forgotten', async () => {
    const { visitor, ...person } = await createMember(service);
    const stranger = visit();
    await stranger.submit('/dashboard/forgot', { email: person.email });
    const link = await linkTo(mail, person.email);
    expect(link).toStartWith('/dashboard/reset?token=');
    const stored = JSON.stringify(await service.sql`SELECT * FROM dashboard_verifications`);
    expect(stored).not.toContain(link.split('=')[1]!);

    await failing('dashboard_credentials', async () => {
      expect((await stranger.submit(link, { password: NEW })).status).toBe(503);
    });
    expect((await visitor.get('/dashboard')).status).toBe(200);
    expect((await visit().submit('/dashboard/sign-in', { ...person })).status).toBe(303);

    await service.sql`
      INSERT INTO dashboard_attempts
      VALUES ('guess ' || encode(sha256(${person.email}), 'hex'), 30, now() + interval '1 hour')
      ON CONFLICT (key) DO UPDATE SET attempts = 30`;
    expect((await stranger.submit('/dashboard/sign-in', { ...person })).status).toBe(429);
    expect((await stranger.submit(link, { password: NEW })).headers.get('location')).toBe(
      '/dashboard/sign-in?done=password',
    );
    expect((await visitor.get('/dashboard')).status).toBe(303);
    expect((await stranger.submit('/dashboard/sign-in', { ...person })).status).toBe(401);
    expect((await stranger.submit('/dashboard/sign-in', { ...person, password: NEW })).status).toBe(303);
    expect((await visit().get(link)).status).toBe(404);
  });

  test('is changed whole or not at all: then every other session ends, and the old one signs nobody in', async () => {
    const { visitor, ...person } = await createMember(service);
    const elsewhere = visit();
    await elsewhere.submit('/dashboard/sign-in', { ...person });
    const change = () => visitor.submit('/dashboard/settings', { present: person.password, password: NEW });
    await failing('dashboard_sessions', async () => {
      expect((await change()).status).toBe(503);
    });
    expect((await elsewhere.get('/dashboard')).status).toBe(200);
    expect((await visitor.get('/dashboard')).status).toBe(200);
    expect((await change()).status).toBe(303);
    expect((await visitor.get('/dashboard')).status).toBe(200);
    expect((await elsewhere.get('/dashboard')).status).toBe(303);
    expect((await elsewhere.submit('/dashboard/sign-in', { ...person })).status).toBe(401);
  });

  /** Runs while no row of a table can be written. */
  async function failing(table: string, during: () => Promise<void>) {
    const { sql } = service;
    await sql`ALTER TABLE ${sql(table)} ADD CONSTRAINT broken CHECK (false) NOT VALID`;
    try {
      await during();
    } finally {
      await sql`ALTER TABLE ${sql(table)} DROP CONSTRAINT broken`;
    }
  }
});

test('a new password is told by mail, however it was changed', async () => {
  const { visitor, accountId, ...person } = await createMember(service);
  const told = async () => {
    const { text } = await mail.mailTo(person.email);
    expect(text).toContain('Your password was changed');
    expect(text).toContain(`Account: ${person.name}`);
  };
  const [first, second, third] = ['first chosen 123', 'second chosen 123', 'third chosen 123'] as const;
  await visitor.submit(
    '/dashboard/settings',
    { present: person.password, password: first },
    { form: 'main form' },
  );
  await told();
  await visitor.submit('/dashboard/forgot', { email: person.email });
  await visitor.submit(await linkTo(mail, person.email), { password: second });
  await told();
  const { token } = await invite(service.sql, { accountId, email: person.email }, 'cli:op');
  await visitor.submit(`/dashboard/invitation?token=${token}`, { password: third });
  await told();
  expect(mail.received(person.email)).toBe(0);
});
