/** Links that are mailed: of a sign-up, a forgotten password, a new email and an invitation. */
import { afterAll, describe, expect, test } from 'bun:test';
import { askEmailChange } from '../../../src/dashboard/account/email-change.ts';
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
  type Person,
  signUpByMail,
  type Visitor,
} from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard({ MAIL_FROM: 'Directory <hello@example.com>' });
afterAll(() => stop());

const visit = (language = 'en') => createVisitor(service.baseUrl, { language });
const signInAs = async (person: Person, visitor = visit()) =>
  said(await visitor.submit('/dashboard/sign-in', { ...person }));
const statusOf = async (visitor: Visitor, path = '/dashboard') => (await visitor.get(path)).status;
const accountsOf = (email: string) => service.sql`
  SELECT 1 FROM dashboard_members m JOIN dashboard_users u ON u."id" = m.user_id WHERE u."email" = ${email}`;
const said = (answer: PageAnswer) => [answer.status, answer.textOf('[role=alert]')] as const;

/** Sends a form. The shortest time of every answer is the same pause; how much longer one takes is not asserted. */
async function paused(path: string, fields: object, visitor = visit()): Promise<PageAnswer> {
  const startMs = performance.now();
  const answer = await visitor.submit(path, { ...fields });
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(395);
  return answer;
}

describe('a sign-up', () => {
  test('is answered alike whether or not the email has an account; its owner reads which', async () => {
    const person = newPerson();
    await signUpByMail(visit(), mail, person);
    const other = newPerson();
    const shown = async (fields: Person) => {
      const visitor = visit();
      const answer = await paused('/dashboard/sign-up', fields, visitor);
      expect(answer.place()).toEqual([303, '/dashboard/sign-up/again']);
      const page = await visitor.get('/dashboard/sign-up/again');
      return [
        ...[page.status, page.textOf('main')!.replace(/\S+@example\.com/i, 'ADDRESS')],
        ...[answer.headers.getSetCookie().length, visitor.cookies.get('dashboard.sign_up')!.length],
      ];
    };
    const taken = { ...person, email: person.email.toUpperCase() };
    expect(await shown(taken)).toEqual(await shown(other));

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
      const fields = tokens.map((form_token) => ({ ...newPerson(), email, form_token }));
      const sent = visitors.map((visitor, index) => visitor.post('/dashboard/sign-up', fields[index]!));
      const places = (await Promise.all(sent)).map(({ place }) => place());
      expect(places).toEqual(Array(2).fill([303, '/dashboard/sign-up/again']));
    }
  });

  test('shows the address, and sends the link again', async () => {
    const visitor = visit();
    const person = newPerson();
    await visitor.submit('/dashboard/sign-up', { ...person });
    const page = await visitor.get('/dashboard/sign-up/again');
    expect([page.status, page.textOf('h1')]).toEqual([200, 'Check your email']);
    const lead = `A link for ${person.email} is on its way, unless five were sent`;
    expect(page.textOf('.lead')).toStartWith(lead);
    await mail.mailTo(person.email);
    const again = await visitor.submit('/dashboard/sign-up/again', {});
    expect(again.place()).toEqual([303, '/dashboard/forgot?done=sent']);
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
    expect(await statusOf(visitor)).toBe(303);
    expect(await accountsOf(email)).toHaveLength(0);
    const elsewhere = visit();
    // A session of another user in the browser is not in the way.
    await createMember(service, { visitor: elsewhere });
    const answer = await elsewhere.submit(link, { password });
    expect(answer.place()).toEqual([303, '/dashboard?done=confirmed']);
    const overview = await elsewhere.get('/dashboard?done=confirmed');
    expect([overview.status, overview.textOf('[role=status]')]).toEqual([200, 'Your address is confirmed.']);
    expect(overview.textOf('.account strong')).toBe(name);
    expect(await accountsOf(email)).toHaveLength(1);
    // Within its hour the link is no reset.
    expect(await statusOf(visit(), link)).toBe(404);
    expect((await signInAs({ name, email, password }))[0]).toBe(303);
  });

  test('of a stranger with the address of another person opens nothing to them', async () => {
    const [stranger, owner] = [visit(), visit()];
    const person = newPerson();
    await stranger.submit('/dashboard/sign-up', { ...person });
    const own = newPerson().password;
    await owner.submit(await linkTo(mail, person.email), { password: own });
    expect([await statusOf(owner), await statusOf(stranger)]).toEqual([200, 303]);
    expect((await signInAs(person, stranger))[0]).toBe(401);
  });

  test('from before mail: its session is none, and its password has the link sent, not more', async () => {
    const { visitor, ...person } = await createMember(service);
    await service.sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${person.email}`;
    expect(await statusOf(visitor)).toBe(303);
    const wrong = 'The email or the password is wrong, or the email is not confirmed yet: check your email.';
    for (const given of [{ ...person, password: 'not the password' }, newPerson(), person])
      expect(await signInAs(given, visitor)).toEqual([401, wrong]);
    const { password } = newPerson();
    await visitor.submit(await linkTo(mail, person.email), { password });
    expect((await visitor.get('/dashboard/settings')).textOf('dl code')).toBe(person.accountId);
    expect((await mail.mailTo(person.email)).text).toContain('Your password was changed');
    const kinds = (await loadHistory(service.sql, person.accountId)).map(({ kind }) => kind);
    expect(kinds).toContain('password-changed');
    expect((await signInAs(person))[0]).toBe(401);
  });
});

test('no more than five mails an hour and purpose go to one address, and strangers are answered alike', async () => {
  const person = await createMember(service);
  const unknown = newPerson();
  for (let asked = 0; asked < 7; asked += 1) {
    for (const { email } of [person, unknown]) {
      const answer = await paused('/dashboard/forgot', { email });
      expect(answer.place()).toEqual([303, '/dashboard/forgot?done=sent']);
    }
  }
  await until('five mails', () => mail.received(person.email) >= 5);
  const owner = await createMember(service);
  const invited = { email: unknown.email, present: owner.password };
  await owner.visitor.submit('/dashboard/settings/members', invited, { form: 'main section form' });
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

test('a link of a reset and one of a new email live for an hour, and an invitation for seven days', async () => {
  const { email, userId, accountId } = await createMember(service);
  await visit().submit('/dashboard/forgot', { email });
  await mail.mailTo(email);
  await askEmailChange(service.sql, userId, newPerson().email);
  await invite(service.sql, { accountId, email: newPerson().email }, 'test');
  const ends = await service.sql<{ hours: number }[]>`
    SELECT round(extract(epoch FROM ends - now()) / 3600)::integer AS hours FROM (
      SELECT 1 AS n, "expiresAt" AS ends FROM dashboard_verifications WHERE "value" = ${userId}
      UNION ALL SELECT 2, expires_at FROM dashboard_email_changes WHERE user_id = ${userId}
      UNION ALL SELECT 3, expires_at FROM dashboard_invitations WHERE account_id = ${accountId}) AS links ORDER BY n`;
  expect(ends.map(({ hours }) => hours)).toEqual([1, 1, 7 * 24]);
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
      const form_token = await formTokenOf(visitor);
      const choice = { name: 'Maria', password: 'correct horse battery', form_token };
      for (const token of [...FORGED, rightShape]) {
        const opened = await visitor.get(`/dashboard/${kind}?token=${encodeURIComponent(token)}`);
        const sent = await visitor.post(`/dashboard/${kind}`, { ...choice, token });
        expect([token, opened.status, sent.status]).toEqual([token, 404, 404]);
        expect(opened.linksOf('main .button')).toEqual([...ways]);
        if (kind === 'invitation')
          expect(opened.textOf('main')).toContain('Ask the sender of the invitation');
        expect(opened.headers.get('referrer-policy')).toBe('strict-origin');
      }
      expect(await statusOf(visitor, `/dashboard/${kind}`)).toBe(404);
      expect((await visitor.post(`/dashboard/${kind}`, choice)).status).toBe(404);
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
    expect(await statusOf(visitor, link)).toBe(404);
    expect((await visitor.post('/dashboard/reset', form)).status).toBe(404);
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
    expect(await statusOf(visitor)).toBe(200);
    expect((await signInAs(person))[0]).toBe(303);

    await service.sql`
      INSERT INTO dashboard_attempts
      VALUES ('guess ' || encode(sha256(${person.email}), 'hex'), 30, now() + interval '1 hour')
      ON CONFLICT (key) DO UPDATE SET attempts = 30`;
    expect((await signInAs(person, stranger))[0]).toBe(429);
    const reset = await stranger.submit(link, { password: NEW });
    expect(reset.place()).toEqual([303, '/dashboard/sign-in?done=password']);
    expect(await statusOf(visitor)).toBe(303);
    expect((await signInAs(person, stranger))[0]).toBe(401);
    expect((await signInAs({ ...person, password: NEW }, stranger))[0]).toBe(303);
    expect(await statusOf(visit(), link)).toBe(404);
  });

  test('is changed whole or not at all: then every other session ends, and the old one signs nobody in', async () => {
    const { visitor, ...person } = await createMember(service);
    const elsewhere = visit();
    await signInAs(person, elsewhere);
    const change = () => visitor.submit('/dashboard/settings', { present: person.password, password: NEW });
    await failing('dashboard_sessions', async () => {
      expect((await change()).status).toBe(503);
    });
    expect([await statusOf(visitor), await statusOf(elsewhere)]).toEqual([200, 200]);
    expect((await change()).status).toBe(303);
    expect([await statusOf(visitor), await statusOf(elsewhere)]).toEqual([200, 303]);
    expect((await signInAs(person, elsewhere))[0]).toBe(401);
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
  await visitor.submit('/dashboard/settings', { present: person.password, password: first });
  await told();
  await visitor.submit('/dashboard/forgot', { email: person.email });
  await visitor.submit(await linkTo(mail, person.email), { password: second });
  await told();
  const { token } = await invite(service.sql, { accountId, email: person.email }, 'cli:op');
  await visitor.submit(`/dashboard/invitation?token=${token}`, { password: third });
  await told();
  expect(mail.received(person.email)).toBe(0);
});
