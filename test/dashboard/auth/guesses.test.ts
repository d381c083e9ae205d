import { afterAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor, newPerson, type Person } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

/** The status of a sign-in. @param from the visitor's address; without it, an address of no other visitor */
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
  test('is not charged for right passwords', async () => {
    const person = await createMember(service);
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
    const person = await createMember(service);
    expect(await signIn(person, true, '203.0.113.22')).toBe(429);
    expect(await signIn(person, true, '203.0.113.23')).toBe(303);
  });

  test('that is not public keeps nobody out but the emails that failed', async () => {
    const attacked = await createMember(service);
    const other = await createMember(service);
    expect(await fail(11, attacked, '172.17.0.1')).toEqual([...all(10, 401), 429]);
    expect(await signIn(attacked, true, '172.17.0.1')).toBe(429);
    expect(await signIn(other, true, '172.17.0.1')).toBe(303);
    // A password sprayer makes one guess for each email.
    const sprayed = newPerson();
    expect(await fail(2, sprayed, '172.17.0.1')).toEqual([401, 429]);
  });

  test('of a proxy that TRUST_PROXY does not name keeps nobody out, and is warned about once', async () => {
    await using behind = await startDashboardService({ TRUST_PROXY: '' });
    const victim = await createMember(behind);
    expect(await fail(11, newPerson(), '203.0.113.30', behind)).toEqual([...all(10, 401), 429]);
    expect(await signIn(victim, true, '203.0.113.31', behind)).toBe(303);
    const warnings = behind.logLines.filter((line) => line.msg.startsWith('X-Forwarded-For is ignored'));
    expect(warnings.length).toBe(1);
  });
});

/** Stores a number of guesses of an email's password. @param kind `known` in browsers that its user knows, `guess` elsewhere */
const setGuesses = (kind: 'known' | 'guess', { email }: Person, guesses: number) => service.sql`
  INSERT INTO dashboard_attempts VALUES (${`${kind} ${hashOf(email)}`}, ${guesses}, now() + interval '1 hour')
  ON CONFLICT (key) DO UPDATE SET attempts = excluded.attempts`;

const hashOf = (email: string) => createHash('sha256').update(email).digest('hex');

describe('an email', () => {
  test('is refused after thirty guesses in an hour from anywhere, whether or not it has an account', async () => {
    const person = await createMember(service);
    for (const { email } of [person, newPerson()]) {
      expect(await fail(1, { ...person, email })).toEqual([401]);
      await setGuesses('guess', { ...person, email }, 29);
      expect(await fail(2, { ...person, email })).toEqual([401, 429]);
      expect(await signIn({ ...person, email: email.toUpperCase() }, true)).toBe(429);
    }
    const keys = await service.sql<{ key: string }[]>`SELECT key FROM dashboard_attempts`;
    expect(keys.map(({ key }) => key)).toContain(`guess ${hashOf(person.email)}`);
    expect(JSON.stringify(keys)).not.toContain('@');
  });

  test('has right guesses counted too, so that a password opens thirty sessions an hour', async () => {
    const person = await createMember(service);
    await setGuesses('guess', person, 28);
    expect([await signIn(person, true), await signIn(person, true)]).toEqual([303, 303]);
    expect(await signIn(person, true)).toBe(429);
  });

  test('signs in where its user has signed in before, and in their open session, whatever is guessed elsewhere', async () => {
    const { visitor, ...person } = await createMember(service);
    await setGuesses('guess', person, 30);
    expect(await signIn(person, true)).toBe(429);
    const next = 'another long password';
    const change = { present: person.password, password: next };
    expect((await visitor.submit('/dashboard/settings', change)).status).toBe(303);
    await visitor.submit('/dashboard/settings', {}, { form: '.sign-out' });
    expect((await visitor.get('/dashboard')).status).toBe(303);
    expect((await visitor.submit('/dashboard/sign-in', { ...person, password: next })).status).toBe(303);
    // These are counted as well.
    await setGuesses('known', person, 30);
    expect((await visitor.submit('/dashboard/settings', { ...change, present: next })).status).toBe(429);
  });

  test('is not known to the browser of another user, nor to one that makes a cookie up', async () => {
    const [visitor, other] = [createVisitor(service.baseUrl), createVisitor(service.baseUrl)];
    const [person, { userId }] = [
      await createMember(service, { visitor }),
      await createMember(service, { visitor: other }),
    ];
    for (const one of [visitor, other]) one.cookies.delete('dashboard.session_token');
    await setGuesses('guess', person, 30);
    expect((await other.submit('/dashboard/sign-in', { ...person })).status).toBe(429);
    const known = visitor.cookies.get('dashboard.browser')!;
    const [id, signature] = known.split('.') as [string, string];
    for (const forged of [
      id,
      `${id}.`,
      `${id}.${[...signature].reverse().join('')}`,
      `${userId}.${signature}`,
    ]) {
      visitor.cookies.set('dashboard.browser', forged);
      expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(429);
    }
    visitor.cookies.set('dashboard.browser', known);
    expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(303);
  });
});
