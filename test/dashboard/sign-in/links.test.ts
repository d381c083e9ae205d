import { afterAll, describe, expect, test } from 'bun:test';
import { startMailedDashboard } from '../service.ts';
import { createMember, createVisitor, formTokenOf, linkTo, newPerson, signUpByMail } from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

const KINDS = ['reset', 'confirm', 'invitation'] as const;

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
  test('says so when its form is sent: reset', async () => {
    const person = await createMember(service);
    const visitor = createVisitor(service.baseUrl);
    await visitor.submit('/dashboard/forgot', { email: person.email });
    const link = await linkTo(mail, person.email);
    expect((await visitor.get(link)).status).toBe(200);
    const form_token = await formTokenOf(visitor, link);
    await service.sql`UPDATE dashboard_verifications SET "expiresAt" = now()`;
    const form = { token: link.split('=')[1]!, password: 'correct horse battery', form_token };
    expect((await visitor.post('/dashboard/reset', form)).status).toBe(404);
  });

  test('says so when it is opened: reset, with the user of another link', async () => {
    const links = [];
    for (const { email } of [await createMember(service), await createMember(service)]) {
      await createVisitor(service.baseUrl).submit('/dashboard/forgot', { email });
      links.push((await linkTo(mail, email)).split('=')[1]!.split('.'));
    }
    const [[token], [, ...user]] = links as [string[], string[]];
    const visitor = createVisitor(service.baseUrl);
    expect((await visitor.get(`/dashboard/reset?token=${links[0]!.join('.')}`)).status).toBe(200);
    for (const wrong of [[token, ...user].join('.'), token, `${token}.`, `${token}.${user[0]}`])
      expect([wrong, (await visitor.get(`/dashboard/reset?token=${wrong}`)).status]).toEqual([wrong, 404]);
  });

  test('says so when it is opened: confirm, of another signature', async () => {
    const person = newPerson();
    await createVisitor(service.baseUrl).submit('/dashboard/sign-up', { ...person });
    const link = await linkTo(mail, person.email);
    const visitor = createVisitor(service.baseUrl);
    expect((await visitor.get(link)).status).toBe(200);
    const [path, signature] = [link.slice(0, link.lastIndexOf('.')), link.slice(link.lastIndexOf('.') + 1)];
    expect((await visitor.get(`${path}.${[...signature].reverse().join('')}`)).status).toBe(404);
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

describe('a confirmation', () => {
  test('is bound to its user: not to another with the same email', async () => {
    const person = newPerson();
    const first = createVisitor(service.baseUrl);
    await first.submit('/dashboard/sign-up', { ...person });
    const link = await linkTo(mail, person.email);
    await service.sql`DELETE FROM dashboard_users WHERE "email" = ${person.email}`;
    const second = createVisitor(service.baseUrl);
    await second.submit('/dashboard/sign-up', { ...person });
    expect((await second.submit(link, {})).status).toBe(404);
    const confirmed = () =>
      service.sql`SELECT "emailVerified" AS confirmed FROM dashboard_users WHERE "email" = ${person.email}`;
    expect([...(await confirmed())]).toEqual([{ confirmed: false }]);
    expect((await second.submit(await linkTo(mail, person.email), {})).status).toBe(303);
    expect([...(await confirmed())]).toEqual([{ confirmed: true }]);
  });
});

describe('a password', () => {
  const NEW = 'another long password';

  test('is reset whole or not at all: a fault in between leaves the link, the sessions and the old password', async () => {
    const visitor = createVisitor(service.baseUrl);
    const person = newPerson();
    await signUpByMail(visitor, mail, person);
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
    const visitor = createVisitor(service.baseUrl);
    const person = newPerson();
    await signUpByMail(visitor, mail, person);
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
