import { afterAll, describe, expect, test } from 'bun:test';
import { until } from '../../support/until.ts';
import { startMailedDashboard } from '../service.ts';
import {
  createMember,
  createVisitor,
  formTokenOf,
  linkTo,
  makeKey,
  newPerson,
  type PageAnswer,
  signUpByMail,
  type Visitor,
} from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard({ MAIL_FROM: 'Directory <hello@example.com>' });
afterAll(() => stop());

const visit = (language = 'en') => createVisitor(service.baseUrl, { language });
const said = (answer: PageAnswer) => [answer.status, answer.textOf('[role=alert]')] as const;

async function timed<T>(work: Promise<T>): Promise<{ value: T; ms: number }> {
  const startMs = performance.now();
  const value = await work;
  return { value, ms: performance.now() - startMs };
}

/** Signs up and in, and takes the confirmation back: a user from before mail was configured. */
async function unconfirmed(visitor = visit()) {
  const person = await signUpByMail(visitor, mail);
  await service.sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${person.email}`;
  return { visitor, person };
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
    expect(told.text).toContain('Sign in, or choose a new password here.');
    expect(told.text).toContain(`${service.baseUrl}/dashboard/forgot`);
    expect((await mail.mailTo(other.email)).text).toContain('/dashboard/confirm?token=');
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

  test('shows the address and sends the link again; elsewhere its link leads to the sign-in with the email filled in', async () => {
    const visitor = visit();
    const person = newPerson();
    await visitor.submit('/dashboard/sign-up', { ...person });
    const page = await visitor.get('/dashboard/sign-up/again');
    expect([page.status, page.textOf('h1')]).toEqual([200, 'Check your email']);
    expect(page.textOf('.lead')).toStartWith(`A link for ${person.email} is on its way, unless it had five`);
    const hidden = [...page.document.querySelectorAll('main form input')].map((input) => [
      input.getAttribute('name')!,
      input.getAttribute('value')!,
    ]);
    await mail.mailTo(person.email);
    const again = await visitor.post('/dashboard/sign-up/again', Object.fromEntries(hidden));
    expect([again.status, again.headers.get('location')]).toEqual([
      303,
      '/dashboard/sign-up/again?done=sent',
    ]);
    const sent = await visitor.get('/dashboard/sign-up/again?done=sent');
    expect(sent.textOf('.lead')).toStartWith(`If ${person.email} is not confirmed yet, a link is on its way`);
    const elsewhere = visit();
    const { password } = newPerson();
    const redirect = await elsewhere.submit(await linkTo(mail, person.email), { password });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([
      303,
      '/dashboard/sign-in?done=confirmed',
    ]);
    const confirmed = await elsewhere.get('/dashboard/sign-in?done=confirmed');
    expect(elsewhere.cookies.has('dashboard.session_token')).toBe(false);
    const [user] = await service.sql`
      SELECT count(s."id") AS sessions FROM dashboard_users u LEFT JOIN dashboard_sessions s ON s."userId" = u."id"
      WHERE u."email" = ${person.email}`;
    expect(user).toEqual({ sessions: 0 });
    expect(confirmed.textOf('[role=status]')).toBe('Your address is confirmed.');
    expect(confirmed.document.querySelector('#email')!.getAttribute('value')).toBe(person.email);
    expect(confirmed.document.querySelector('main form')!.getAttribute('action')).toBe('/dashboard/sign-in');
  });

  test('its link signs in once, in the browser that signed up, with an account that is empty', async () => {
    const visitor = visit();
    const person = newPerson();
    await visitor.submit('/dashboard/sign-up', { ...person });
    const link = await linkTo(mail, person.email);
    await visitor.get(link);
    expect((await visitor.get('/dashboard')).status).toBe(303);
    const answer = await visitor.submit(link, {});
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/dashboard?done=confirmed']);
    const overview = await visitor.get('/dashboard?done=confirmed');
    expect([overview.status, overview.textOf('[role=status]')]).toEqual([200, 'Your address is confirmed.']);
    expect(service.logLines.filter(({ event }) => event === 'sign-in').length).toBeGreaterThan(0);

    visitor.cookies.delete('dashboard.session_token');
    const again = await visitor.submit(link, {});
    expect(again.headers.get('location')).toBe('/dashboard/sign-in?done=confirmed');
    expect((await visitor.get('/dashboard')).status).toBe(303);
  });

  test('its link does not sign in with the password of a stranger that gave the email before', async () => {
    const [stranger, owner] = [visit(), visit()];
    const person = newPerson();
    await stranger.submit('/dashboard/sign-up', { ...person });
    const link = await linkTo(mail, person.email);
    await owner.submit('/dashboard/sign-up', { ...newPerson(), email: person.email });
    const { email } = person;
    const own = newPerson().password;
    expect(said(await owner.submit(link, { password: 'short' }))[0]).toBe(422);
    expect(said(await stranger.submit('/dashboard/sign-in', { ...person }))[0]).toBe(401);
    const confirmed = await owner.submit(link, { password: own });
    expect(confirmed.headers.get('location')).toBe('/dashboard/sign-in?done=confirmed');
    expect((await owner.get('/dashboard')).status).toBe(303);
    expect((await stranger.get('/dashboard')).status).toBe(303);
    expect((await stranger.submit('/dashboard/sign-in', { ...person })).status).toBe(401);
    // Within its hour the link is no reset.
    const again = await stranger.post(link, {
      token: new URL(link, 'http://a').searchParams.get('token')!,
      form_token: await formTokenOf(stranger),
      password: newPerson().password,
    });
    expect(again.headers.get('location')).toBe('/dashboard/sign-in?done=confirmed');
    expect((await owner.submit('/dashboard/sign-in', { email, password: own })).status).toBe(303);
  });

  test('a session of its user needs no new password, and a session of another one does', async () => {
    const [own, other] = [visit(), visit()];
    const member = await createMember(service, { visitor: own });
    await createMember(service, { visitor: other });
    await service.sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${member.email}`;
    const { createEmailVerificationToken } = await import('better-auth/api');
    const token = await createEmailVerificationToken(service.config.authSecret!, member.email);
    const link = `/dashboard/confirm?token=${token}`;
    const fieldOf = async (visitor: Visitor) =>
      (await visitor.get(link)).document.querySelector('input[name=password]');
    expect([await fieldOf(own), (await fieldOf(other)) === null]).toEqual([null, false]);
    expect((await own.submit(link, {})).headers.get('location')).toBe('/dashboard?done=confirmed');
    expect((await visit().submit('/dashboard/sign-in', { ...member })).status).toBe(303);
  });

  test('its link does not sign in a member of an account: a second factor or a suspension may be theirs', async () => {
    const visitor = visit();
    const person = await signUpByMail(visitor, mail);
    const cookie = visitor.cookies.get('dashboard.sign_up');
    expect(cookie).toBeUndefined();
    const signUp = visit();
    const other = newPerson();
    await signUp.submit('/dashboard/sign-up', { ...other });
    const link = await linkTo(mail, other.email);
    await service.sql`
      INSERT INTO dashboard_members (user_id, account_id, role)
      SELECT "id", ${person.accountId}, 'member' FROM dashboard_users WHERE "email" = ${other.email}`;
    expect((await signUp.submit(link, {})).headers.get('location')).toBe('/dashboard/sign-in?done=confirmed');
    expect((await signUp.get('/dashboard')).status).toBe(303);
  });

  test('gives no account and no sign-in before the email is confirmed', async () => {
    const visitor = visit();
    const person = newPerson();
    await visit().submit('/dashboard/sign-up', { ...person });
    const link = await linkTo(mail, person.email);
    const accounts = async () =>
      (
        await service.sql`SELECT 1 FROM dashboard_members m
      JOIN dashboard_users u ON u."id" = m.user_id WHERE u."email" = ${person.email}`
      ).length;
    const wrong: [number, string] = [
      401,
      'The email or the password is wrong, or the email is not confirmed yet: see your mail.',
    ];
    expect(
      said(await visitor.submit('/dashboard/sign-in', { ...person, password: 'not the password' })),
    ).toEqual(wrong);
    expect(said(await visitor.submit('/dashboard/sign-in', { ...newPerson() }))).toEqual(wrong);
    expect(said(await visitor.submit('/dashboard/sign-in', { ...person }))).toEqual(wrong);
    expect(await accounts()).toBe(0);
    // The right password has the link sent again.
    expect(await linkTo(mail, person.email)).toStartWith('/dashboard/confirm?token=');

    await visit().get(link); // as a mail scanner does
    expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(401);
    expect((await visitor.submit(link, { password: person.password })).status).toBe(303);
    expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(303);
    expect((await visitor.get('/dashboard')).status).toBe(200);
    expect(await accounts()).toBe(1);
  });

  test('comes from MAIL_FROM, with a link to PUBLIC_URL', async () => {
    const person = newPerson();
    await visit().submit('/dashboard/sign-up', { ...person });
    const sent = await mail.mailTo(person.email);
    expect(sent.from).toBe('hello@example.com');
    expect(sent.text).toContain(`${service.baseUrl}/dashboard/confirm?token=`);
  });
});

describe('a confirmation', () => {
  test('is needed before the first key, and is a press, not the opening of the link', async () => {
    const { visitor, person } = await unconfirmed();
    const page = await visitor.get('/dashboard/keys');
    expect(page.text).toContain('Confirm your email first.');
    const form_token = await formTokenOf(visitor, '/dashboard/keys');
    expect((await visitor.post('/dashboard/keys', { name: 'early', form_token })).status).toBe(403);
    expect((await service.sql`SELECT 1 FROM api_keys WHERE account_id = ${person.accountId}`).length).toBe(0);

    await visitor.submit('/dashboard', {}, { form: 'form.notice' });
    const link = await linkTo(mail, person.email);
    await visit().get(link);
    expect((await visitor.get('/dashboard')).text).toContain('Confirm your address');
    expect((await visitor.submit(link, {}, { form: 'main form' })).status).toBe(303);
    expect((await visitor.get('/dashboard')).text).not.toContain('Confirm your address');
    expect(await makeKey(visitor)).toMatch(/^svc_/);
  });

  test('is needed before a call is tried: nothing is spent without it', async () => {
    const tryForm = { form: '.try-form' };
    const { visitor, person } = await unconfirmed();
    const early = await visitor.submit('/dashboard/try', { q: 'padaria', kind: 'search' }, tryForm);
    expect(said(early)).toEqual([403, 'Confirm your email first.']);
    const lookup = await visitor.submit('/dashboard/try', { q: '500002576', kind: 'lookup' }, tryForm);
    expect(lookup.status).toBe(403);
    const used = async () =>
      (await service.sql`SELECT used FROM balances WHERE account_id = ${person.accountId}`)[0]!.used;
    expect(await used()).toBe(0);
    await service.sql`UPDATE dashboard_users SET "emailVerified" = true WHERE "email" = ${person.email}`;
    const late = await visitor.submit('/dashboard/try', { q: 'padaria', kind: 'search' }, tryForm);
    expect(late.status).toBe(200);
    expect(await used()).toBe(1);
  });

  test('by a wrong or foreign link confirms nobody', async () => {
    const { visitor, person } = await unconfirmed();
    const form_token = await formTokenOf(visitor, '/dashboard/settings');
    for (const token of ['', 'x', 'eyJhbGciOiJub25lIn0.eyJlbWFpbCI6ImEifQ.', 'eyJh.eyJl.c2ln']) {
      expect((await visitor.post('/dashboard/confirm', { token, form_token })).status).toBe(404);
    }
    const [user] =
      await service.sql`SELECT "emailVerified" FROM dashboard_users WHERE "email" = ${person.email}`;
    expect(user!.emailVerified).toBe(false);
  });

  test('can be sent again, in the language of the browser', async () => {
    const { visitor, person } = await unconfirmed(visit('pt-PT'));
    const answer = await visitor.submit('/dashboard', {}, { form: 'form.notice' });
    expect(answer.headers.get('location')).toBe('/dashboard/settings?done=sent');
    const { text } = await mail.mailTo(person.email);
    expect(text).toContain('Abra esta ligação para confirmar o seu email.');
    expect(text).toContain('/dashboard/confirm?token=');
  });
});

describe('a forgotten password', () => {
  test('is reset by a link that works once; every session ends', async () => {
    const visitor = visit();
    const person = await signUpByMail(visitor, mail);
    const stranger = visit();
    await stranger.submit('/dashboard/forgot', { email: person.email });
    const link = await linkTo(mail, person.email);
    expect(link).toStartWith('/dashboard/reset?token=');
    const stored = JSON.stringify(await service.sql`SELECT * FROM dashboard_verifications`);
    expect(stored).not.toContain(link.split('=')[1]!);

    const password = 'chosen again 1234';
    expect((await stranger.submit(link, { password })).headers.get('location')).toBe(
      '/dashboard/sign-in?done=password',
    );
    expect((await visitor.get('/dashboard')).status).toBe(303);
    expect((await stranger.submit('/dashboard/sign-in', { ...person })).status).toBe(401);
    expect((await stranger.submit('/dashboard/sign-in', { ...person, password })).status).toBe(303);
    expect((await visit().submit(link, { password })).status).toBe(404);
  });

  test('is answered alike for an email that has no account', async () => {
    const person = await signUpByMail(visit(), mail);
    const known = await timed(visit().submit('/dashboard/forgot', { email: person.email }));
    const unknown = await timed(visit().submit('/dashboard/forgot', { email: newPerson().email }));
    const shown = ({ value }: typeof known) => [value.status, value.textOf('main')];
    expect(shown(known)).toEqual(shown(unknown));
    expect(Math.min(known.ms, unknown.ms)).toBeGreaterThanOrEqual(395);
    await mail.mailTo(person.email);
  });
});

test('no more than five mails an hour and purpose go to one address, and strangers are answered alike', async () => {
  const person = await signUpByMail(visit(), mail);
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
  // The confirmation was the first of this purpose.
  await until('four mails more', () => mail.received(person.email) >= 9);
  expect([mail.received(person.email), mail.received(unknown.email)]).toEqual([9, 0]);
});

test('no page claims a mail that a silent limit may have kept back, and none tells whether an address is known', async () => {
  for (const [language, unless] of [
    ['en', 'unless it had five this hour'],
    ['pt-PT', 'salvo se já recebeu cinco nesta hora'],
  ] as const) {
    const [person, unknown] = [newPerson(), newPerson()];
    const { visitor: own } = await unconfirmed(visit(language));
    const send = async (path: string, fields: object) => {
      const visitor = visit(language);
      const form_token = await formTokenOf(visitor);
      const { headers } = await visitor.post(`/dashboard${path}`, { ...fields, form_token });
      return visitor.get(headers.get('location')!);
    };
    const pagesOf = async ({ email }: { email: string }) => {
      const pages = [await send('/sign-up/again', { email }), await send('/forgot', { email })];
      return pages.map((page) => page.textOf('main')!.replaceAll(email, 'EMAIL'));
    };
    await visit(language).submit('/dashboard/sign-up', { ...person });
    for (const _ of ['with room', 'full']) {
      const pages = await pagesOf(person);
      expect(pages).toEqual(await pagesOf(unknown));
      const again = visit(language);
      await again.submit('/dashboard/sign-up', { ...person });
      pages.push((await again.get('/dashboard/sign-up/again')).textOf('main')!);
      for (const page of pages) expect(page).toContain(unless);
      await service.sql`UPDATE dashboard_attempts SET attempts = 5 WHERE starts_with(key, 'mail-')`;
    }
    await own.submit('/dashboard', {}, { form: 'form.notice' });
    expect((await own.get('/dashboard/settings?done=sent')).textOf('[role=status]')).toMatch(/five|cinco/);
  }
});

test('no link is ever logged', async () => {
  const person = await signUpByMail(visit(), mail);
  await visit().submit('/dashboard/forgot', { email: person.email });
  await mail.mailTo(person.email);
  expect(JSON.stringify(service.logLines)).not.toContain('token');
});
