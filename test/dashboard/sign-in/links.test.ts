import { afterAll, describe, expect, test } from 'bun:test';
import { invite } from '../../../src/dashboard/account/invitations.ts';
import { startMailedDashboard } from '../service.ts';
import { createMember, createVisitor, formTokenOf, linkTo } from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

const KINDS = ['reset', 'email', 'invitation'] as const;

describe('a token of a wrong shape', () => {
  test('is a dead link: with a NUL, of a wrong length, of a wrong alphabet', async () => {
    const visitor = createVisitor(service.baseUrl);
    const logged = service.logLines.length;
    const form_token = await formTokenOf(visitor);
    const choice = { name: 'Maria', password: 'correct horse battery', form_token };
    for (const kind of KINDS) {
      for (const token of ['\0', `${'a'.repeat(23)}\0`, '', 'a', 'ã'.repeat(24), 'a'.repeat(10_000)]) {
        const opened = await visitor.get(`/dashboard/${kind}?token=${encodeURIComponent(token)}`);
        const sent = await visitor.post(`/dashboard/${kind}`, { ...choice, token });
        expect([kind, token, opened.status, sent.status]).toEqual([kind, token, 404, 404]);
      }
    }
    expect(service.logLines.slice(logged).filter((line) => Number(line.level) >= 50)).toEqual([]);
  });
});

describe('a link of the right shape that no longer works', () => {
  test('says so when it is opened, and when its form is sent: reset', async () => {
    const { email } = await createMember(service);
    const visitor = createVisitor(service.baseUrl);
    await visitor.submit('/dashboard/forgot', { email });
    const link = await linkTo(mail, email);
    const form_token = await formTokenOf(visitor, link);
    await service.sql`UPDATE dashboard_verifications SET "expiresAt" = now()`;
    const form = { token: link.split('=')[1]!, password: 'correct horse battery', form_token };
    const statuses = [await visitor.get(link), await visitor.post('/dashboard/reset', form)].map(
      ({ status }) => status,
    );
    expect(statuses).toEqual([404, 404]);
  });
});

describe('one-time tokens', () => {
  test('do not leave the page in a Referer, whatever the answer is', async () => {
    const visitor = createVisitor(service.baseUrl);
    for (const kind of KINDS) {
      for (const token of ['x', 'a'.repeat(24), 'a.b.c', 'a'.repeat(32)]) {
        const { headers } = await visitor.get(`/dashboard/${kind}?token=${token}`);
        expect(headers.get('referrer-policy')).toBe('strict-origin');
      }
    }
  });
});

describe('a password', () => {
  const NEW = 'another long password';

  test('is reset whole or not at all: a fault in between leaves the link, the sessions and the old password', async () => {
    const { visitor, ...person } = await createMember(service);
    const stranger = createVisitor(service.baseUrl);
    await stranger.submit('/dashboard/forgot', { email: person.email });
    const link = await linkTo(mail, person.email);

    await failing('dashboard_credentials', async () => {
      expect((await stranger.submit(link, { password: NEW })).status).toBe(503);
    });
    expect((await visitor.get('/dashboard')).status).toBe(200);
    expect((await createVisitor(service.baseUrl).submit('/dashboard/sign-in', { ...person })).status).toBe(
      303,
    );

    expect((await stranger.submit(link, { password: NEW })).status).toBe(303);
    expect((await visitor.get('/dashboard')).status).toBe(303);
    const again = { email: person.email, password: NEW };
    expect((await createVisitor(service.baseUrl).submit('/dashboard/sign-in', again)).status).toBe(303);
  });

  test('is changed whole or not at all: a fault in between leaves the other sessions and the old password', async () => {
    const { visitor, ...person } = await createMember(service);
    const elsewhere = createVisitor(service.baseUrl);
    await elsewhere.submit('/dashboard/sign-in', { ...person });
    const change = () => visitor.submit('/dashboard/settings', { present: person.password, password: NEW });
    await failing('dashboard_sessions', async () => {
      expect((await change()).status).toBe(503);
    });
    expect((await elsewhere.get('/dashboard')).status).toBe(200);
    expect((await visitor.get('/dashboard')).status).toBe(200);
    expect((await change()).status).toBe(303);
    expect((await elsewhere.get('/dashboard')).status).toBe(303);
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

test('a used or bad link leads to a new one', async () => {
  const visitor = createVisitor(service.baseUrl);
  const token = 'x'.repeat(32);
  const bad = (path: string) => visitor.get(`/dashboard/${path}`);
  for (const [path, way] of [
    [`reset?token=${'x'.repeat(24)}`, 'a[href="/dashboard/forgot"]'],
    [`email?token=${token}`, 'a[href="/dashboard/settings/email"]'],
  ] as const) {
    const page = await bad(path);
    expect([path, page.status, page.document.querySelector(`main ${way}`) !== null]).toEqual([
      path,
      404,
      true,
    ]);
  }
  expect((await bad(`invitation?token=${token}`)).textOf('main')).toContain(
    'Ask the sender of the invitation',
  );
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
