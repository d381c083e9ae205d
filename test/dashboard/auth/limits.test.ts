/** Guesses of passwords, and changes that a member can repeat, which leave a bounded number of rows in the account's ledger, are limited. */
import { afterAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { removeExpired } from '../../../src/dashboard/account-data/wings.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor, formTokenOf, newPerson, type Person } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

/** The status of a sign-in. @param from the visitor's address; without it, an address of no other visitor */
async function signIn(person: Person, right: boolean, from?: string, at = service): Promise<number> {
  const visitor = createVisitor(at.baseUrl, from === undefined ? {} : { address: from });
  const password = right ? person.password : 'not the password';
  return (await visitor.submit('/dashboard/sign-in', { ...person, password })).status;
}

/** Wrong passwords, one after the other. */
const fail = (times: number, ...[person, from, at]: [person: Person, from?: string, at?: typeof service]) =>
  Array.fromAsync({ length: times }, () => signIn(person, false, from, at));

const all = (times: number, status: number) => Array<number>(times).fill(status);

describe('an address', () => {
  test('is not charged for right passwords', async () => {
    const person = await createMember(service);
    for (let index = 0; index < 12; index += 1) expect(await signIn(person, true, '203.0.113.20')).toBe(303);
    expect(await signIn(person, false, '203.0.113.20')).toBe(401);
  });

  test('is refused after ten failures in five minutes, also when they come at once', async () => {
    const failAtOnce = () => Promise.all(all(8, 0).map(() => signIn(newPerson(), false, '203.0.113.21')));
    expect(await failAtOnce()).toEqual(all(8, 401));
    const more = await failAtOnce();
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
    const { visitor, ...person } = await createMember(service);
    const { visitor: other, userId } = await createMember(service);
    for (const one of [visitor, other]) one.cookies.delete('dashboard.session_token');
    await setGuesses('guess', person, 30);
    expect((await other.submit('/dashboard/sign-in', { ...person })).status).toBe(429);
    const known = visitor.cookies.get('dashboard.browser')!;
    const [id, signature] = known.split('.') as [string, string];
    const reversed = [...signature].reverse().join('');
    for (const forged of [id, `${id}.`, `${id}.${reversed}`, `${userId}.${signature}`]) {
      visitor.cookies.set('dashboard.browser', forged);
      expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(429);
    }
    visitor.cookies.set('dashboard.browser', known);
    expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(303);
  });
});

/** A member with a key, the events of their account, and the changes of a kind that they have made. */
async function member() {
  const { visitor, userId, ...person } = await createMember(service);
  const { id } = await createKey(service.sql, person.accountId, 'production', 'test');
  /** The events of a kind in the ledger. */
  const events = async (kind: string) =>
    (await loadHistory(service.sql, person.accountId)).filter((event) => event.kind === kind).length;
  const made = (kind: string, changes: number) => service.sql`
    INSERT INTO dashboard_attempts VALUES (${`${kind} ${userId}`}, ${changes}, now() + interval '1 day')`;
  return { visitor, events, made, id, ...person };
}

test('a form that changes nothing writes no event, and counts as no change', async () => {
  const { visitor, events, made, name, id } = await member();
  for (const kind of ['limits', 'name-changed', 'key-renamed']) await made(kind, 20);
  const form_token = await formTokenOf(visitor, '/dashboard/settings');
  for (let count = 0; count < 3; count += 1) {
    const answer = await visitor.post('/dashboard/credits/spending', { form_token, on: 'yes' });
    expect(answer.headers.get('location')).toBe('/dashboard/credits?done=saved');
  }
  await visitor.submit('/dashboard/settings/name', { name });
  await visitor.submit(`/dashboard/keys/${id}/change`, { name: 'production' });
  for (const kind of ['limits', 'name-changed', 'key-renamed'])
    expect([kind, await events(kind)]).toEqual([kind, 0]);
});

test('a member changes a thing twenty times a day; the next time a page says how long to wait', async () => {
  const { visitor, events, made, name, id } = await member();
  const form_token = await formTokenOf(visitor, '/dashboard/settings');
  const spend = (on: string) => visitor.post('/dashboard/credits/spending', { form_token, on });
  for (let count = 0; count < 20; count += 1) {
    expect((await spend(count % 2 === 0 ? 'no' : 'yes')).status).toBe(303);
  }
  const refused = await spend('no');
  expect([refused.status, await events('limits')]).toEqual([429, 20]);
  expect(refused.textOf('[role=alert]')).toMatch(/^Too many attempts\. Try again in (1 day|23 hours)/);
  await made('name-changed', 20);
  expect((await visitor.submit('/dashboard/settings/name', { name: 'Other' })).status).toBe(429);
  expect((await visitor.get('/dashboard/settings')).text).toContain(name);
  await made('key-renamed', 20);
  expect((await visitor.submit(`/dashboard/keys/${id}/change`, { name: 'x' })).status).toBe(429);
});

test('the ledger has the first sign-in of a day, for 90 days; the list of members the last', async () => {
  const { email, password, accountId, events } = await member();
  const signIn = () => createVisitor(service.baseUrl).submit('/dashboard/sign-in', { email, password });
  await signIn();
  // The sign-up was on the same day.
  expect(await events('signed-in')).toBe(0);
  await service.sql`UPDATE dashboard_members SET signed_in_at = now() - interval '1 day' WHERE account_id = ${accountId}`;
  await signIn();
  await signIn();
  expect(await events('signed-in')).toBe(1);
  const [row] = await service.sql`
    SELECT signed_in_at > now() - interval '1 minute' AS "isNew" FROM dashboard_members WHERE account_id = ${accountId}`;
  expect(row!.isNew).toBe(true);
  for (const [days, kept] of [
    [89, 1],
    [91, 0],
  ] as const) {
    await service.sql`
      UPDATE account_events SET at = now() - ${days} * interval '1 day' WHERE account_id = ${accountId} AND kind = 'signed-in'`;
    await removeExpired(service.sql);
    expect(await events('signed-in')).toBe(kept);
  }
});

test('a new password and ended sessions are never refused for their number, but twenty of a day are in the ledger', async () => {
  const { visitor, events, made, email, password } = await member();
  await made('password-changed', 19);
  await made('sessions-ended', 20);
  const choice = (present: string, next: string) =>
    visitor.submit('/dashboard/settings', { present, password: next });
  expect((await choice(password, 'correct horse battery')).status).toBe(303);
  expect((await choice('correct horse battery', 'another long choice')).status).toBe(303);
  const other = createVisitor(service.baseUrl);
  await other.submit('/dashboard/sign-in', { email, password: 'another long choice' });
  const sessions = '/dashboard/settings/sessions';
  await visitor.submit('/dashboard/settings', {}, { form: `form[action$="${sessions}"]` });
  expect((await other.get('/dashboard')).status).toBe(303);
  expect([await events('password-changed'), await events('sessions-ended')]).toEqual([1, 0]);
});
