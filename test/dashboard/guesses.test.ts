import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { TestService } from '../support/service.ts';
import { startDashboardService } from './service.ts';
import { type MailServer, startMailServer } from './smtp.ts';
import { createVisitor, linkTo, newPerson, type Person, signUp, signUpByMail } from './visitor.ts';

let service: TestService;
beforeAll(async () => {
  service = await startDashboardService();
});
afterAll(() => service.stop());

/** The status of a sign-in. @param from the visitor's address; absent: one that nobody else has */
async function signIn(person: Person, right: boolean, from?: string, at = service): Promise<number> {
  const visitor = createVisitor(at.baseUrl, from === undefined ? {} : { address: from });
  const password = right ? person.password : 'not the password';
  return (await visitor.submit('/dashboard/sign-in', { ...person, password })).status;
}

async function fail(times: number, person: Person, from?: string, at = service): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < times; index += 1) statuses.push(await signIn(person, false, from, at));
  return statuses;
}

const all = (times: number, status: number) => Array.from({ length: times }, () => status);

describe('an address', () => {
  test('signs in as often as it likes: successes are not counted', async () => {
    const person = await signUp(createVisitor(service.baseUrl));
    for (let index = 0; index < 12; index += 1) expect(await signIn(person, true, '203.0.113.20')).toBe(303);
    expect(await signIn(person, false, '203.0.113.20')).toBe(401);
  });

  test('is refused after ten failures in five minutes, also when they come at once', async () => {
    const attempts = Array.from({ length: 8 }, () => signIn(newPerson(), false, '203.0.113.21'));
    expect(await Promise.all(attempts)).toEqual(all(8, 401));
    const more = await Promise.all(
      Array.from({ length: 8 }, () => signIn(newPerson(), false, '203.0.113.21')),
    );
    expect(more.filter((status) => status === 401).length).toBeLessThanOrEqual(2);
    expect(await fail(11, newPerson(), '203.0.113.22')).toEqual([...all(10, 401), 429]);
    const person = await signUp(createVisitor(service.baseUrl));
    expect(await signIn(person, true, '203.0.113.22')).toBe(429);
    expect(await signIn(person, true, '203.0.113.23')).toBe(303);
  });

  test('that is not public keeps nobody out but the emails that failed', async () => {
    const attacked = await signUp(createVisitor(service.baseUrl));
    const other = await signUp(createVisitor(service.baseUrl));
    expect(await fail(11, attacked, '172.17.0.1')).toEqual([...all(10, 401), 429]);
    expect(await signIn(attacked, true, '172.17.0.1')).toBe(429);
    expect(await signIn(other, true, '172.17.0.1')).toBe(303);
    // A sprayer has one guess an email.
    const sprayed = newPerson();
    expect(await fail(2, sprayed, '172.17.0.1')).toEqual([401, 429]);
  });

  test('of a proxy that TRUST_PROXY does not name keeps nobody out, and is warned about once', async () => {
    const behind = await startDashboardService({ TRUST_PROXY: '' });
    try {
      const victim = await signUp(createVisitor(behind.baseUrl));
      expect(await fail(11, newPerson(), '203.0.113.30', behind)).toEqual([...all(10, 401), 429]);
      expect(await signIn(victim, true, '203.0.113.31', behind)).toBe(303);
      const warnings = behind.logLines.filter((line) => line.msg.startsWith('X-Forwarded-For is ignored'));
      expect(warnings.length).toBe(1);
    } finally {
      await behind.stop();
    }
  });
});

describe('an email', () => {
  test('is refused after twenty failures in an hour from anywhere, whether or not it has an account', async () => {
    const person = await signUp(createVisitor(service.baseUrl));
    for (const { email } of [person, newPerson()]) {
      expect(await fail(21, { ...person, email })).toEqual([...all(20, 401), 429]);
      expect(await signIn({ ...person, email: email.toUpperCase() }, true)).toBe(429);
    }
    const keys = await service.sql<{ key: string }[]>`SELECT key FROM dashboard_attempts`;
    const hash = createHash('sha256').update(person.email).digest('hex');
    expect(keys.map(({ key }) => key)).toContain(`guess ${hash}`);
    expect(JSON.stringify(keys)).not.toContain('@');
  }, 30_000);

  test('is counted by wrong present passwords of its settings, too', async () => {
    const visitor = createVisitor(service.baseUrl);
    const person = await signUp(visitor);
    await fail(18, person);
    const change = (present: string) =>
      visitor.submit('/dashboard/settings', { present, password: 'another long password' });
    expect((await change('wrong')).status).toBe(422);
    expect((await change('wrong')).status).toBe(422);
    expect((await change(person.password)).status).toBe(429);
    expect(await signIn(person, true)).toBe(429);
  }, 30_000);

  test('may sign in again once its owner has reset the password', async () => {
    const mail: MailServer = await startMailServer();
    const mailing = await startDashboardService({ SMTP_URL: mail.url });
    try {
      const person = await signUpByMail(createVisitor(mailing.baseUrl), mail);
      await fail(1, person, undefined, mailing);
      await mailing.sql`UPDATE dashboard_attempts SET attempts = 20 WHERE key LIKE 'guess %'`;
      expect(await signIn(person, true, undefined, mailing)).toBe(429);
      const visitor = createVisitor(mailing.baseUrl);
      await visitor.submit('/dashboard/forgot', { email: person.email });
      const password = 'chosen by its owner';
      await visitor.submit(await linkTo(mail, person.email), { password });
      expect(await signIn({ ...person, password }, true, undefined, mailing)).toBe(303);
    } finally {
      await mailing.stop();
      await mail.stop();
    }
  }, 30_000);
});

test('a password that an earlier version took still signs in', async () => {
  const person = await signUp(createVisitor(service.baseUrl));
  const password = 'short pass'; // ten characters
  const { hashPassword } = await import('better-auth/crypto');
  await service.sql`
    UPDATE dashboard_credentials SET "password" = ${await hashPassword(password)}
    WHERE "userId" = (SELECT "id" FROM dashboard_users WHERE "email" = ${person.email})`;
  expect(await signIn({ ...person, password }, true)).toBe(303);
});
