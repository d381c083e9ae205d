/** The second factor of members (src/dashboard/sign-in/second-factor.ts), and its reset by an operator. */
import { afterAll, expect, test } from 'bun:test';
import { invite } from '../../../src/dashboard/account/invitations.ts';
import { resetSecondFactor } from '../../../src/dashboard/auth/members.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { startMailedDashboard } from '../service.ts';
import {
  codeOf,
  createMember,
  createVisitor,
  enrolled,
  fieldsOf,
  linkTo,
  newPerson,
  type Person,
  type Visitor,
} from '../visitor.ts';

const PAGE = '/dashboard/settings/second-factor';
const { service, mail, stop } = await startMailedDashboard();
afterAll(stop);

const isSignedIn = async (visitor: Visitor) => (await visitor.get('/dashboard')).status === 200;
const signIn = (visitor: Visitor, person: Person) => visitor.submit('/dashboard/sign-in', { ...person });
/** A browser in which the password was right. With a second factor, the sign-in awaits its code. */
async function signedIn(person: Person): Promise<Visitor> {
  const visitor = createVisitor(service.baseUrl);
  await signIn(visitor, person);
  return visitor;
}
const giveCode = (visitor: Visitor, code: string) => visitor.submit('/dashboard/sign-in/code', { code });

test('it is set up by a picture or a text, after a code; other sessions end, and a mail and the history say so', async () => {
  const { visitor, ...person } = await createMember(service);
  const other = await signedIn(person);
  const page = await visitor.submit(PAGE, { present: person.password });
  const secret = page.textOf('#secret')!;
  const uri = new URL(page.document.querySelector('a[href^="otpauth:"]')!.getAttribute('href')!);
  expect(uri.searchParams.get('secret')).toBe(secret);
  expect(page.document.querySelector('svg.qr')!.getAttribute('aria-label')).toBe('QR code with the secret');
  expect(page.document.querySelector('#code')!.getAttribute('inputmode')).toBe('numeric');
  const wrong = await visitor.post(`${PAGE}/confirm`, { ...fieldsOf(page), code: codeOf(secret, 9) });
  expect([wrong.status, wrong.textOf('#code-fault')]).toEqual([422, 'The code is wrong, too old or used.']);
  for (const kept of ['#secret', '#backup-codes', 'svg.qr']) {
    const [before, after] = [page, wrong].map(({ document }) => document.querySelector(kept)!.outerHTML);
    expect([kept, after]).toEqual([kept, before]);
  }
  expect(await isSignedIn(other)).toBe(true);

  await visitor.post(`${PAGE}/confirm`, { ...fieldsOf(wrong), code: codeOf(secret) });
  expect([await isSignedIn(visitor), await isSignedIn(other)]).toEqual([true, false]);
  expect((await visitor.get(PAGE)).textOf('main')).toContain('10 backup codes are left.');
  expect((await visitor.get('/dashboard/settings/members')).textOf('tbody')).toContain('On');
  expect((await mail.mailTo(person.email)).text).toContain('Your second factor was turned on');
  expect((await loadHistory(service.sql, person.accountId)).at(-1)!.kind).toBe('second-factor-on');
  // Neither is readable in a copy of the database.
  const [row] = await service.sql`SELECT * FROM dashboard_second_factors WHERE "userId" = ${person.userId}`;
  expect(JSON.stringify(row)).not.toContain(page.textOf('#backup-codes')!.slice(0, 5));
  const [stored] = await service.sql`SELECT * FROM dashboard_second_factors WHERE "secret" = ${secret}`;
  expect(stored).toBeUndefined();
});

test('a sign-in wants the password, then a code; each code works once; the page that was asked for comes then', async () => {
  const { person, secret, codes, used } = await enrolled(service);
  const visitor = createVisitor(service.baseUrl);
  await visitor.submit('/dashboard/sign-in?to=%2Fkeys', { ...person });
  expect(await isSignedIn(visitor)).toBe(false);
  expect((await visitor.get('/dashboard/sign-in?to=%2Fkeys')).textOf('h1')).toBe('Enter the code');
  // The code that turned it on is used.
  for (const code of [used, 'AAAAA-BBBBB', '000 000x']) {
    const refused = await giveCode(visitor, code);
    expect([code, refused.status, await isSignedIn(visitor)]).toEqual([code, 401, false]);
  }
  const next = codeOf(secret, 1);
  const code = ` ${next.slice(0, 3)} ${next.slice(3)} `;
  const answer = await visitor.submit('/dashboard/sign-in?to=%2Fkeys', { code });
  expect(answer.place()).toEqual([303, '/dashboard/keys']);
  expect(await isSignedIn(visitor)).toBe(true);

  const again = await signedIn(person);
  expect((await giveCode(again, next)).status).toBe(401);
  await giveCode(again, codes[0]!);
  expect(await isSignedIn(again)).toBe(true);
  expect((await again.get(PAGE)).textOf('main')).toContain('9 backup codes are left.');
  const third = await signedIn(person);
  expect((await giveCode(third, codes[0]!)).status).toBe(401);
  const lines = service.logLines.filter(({ msg, member }) => msg === 'security' && member === person.userId);
  expect(lines.slice(-4).map(({ event }) => event)).toEqual([
    ...['sign-in code failed', 'sign-in', 'sign-in code asked', 'sign-in code failed'],
  ]);
});

test('backup codes have no letters that look alike, and work with any case, hyphens and blanks', async () => {
  const { visitor, person, page, codes } = await enrolled(service);
  for (const code of codes) expect(code).toMatch(/^[a-hjkmnp-z2-9]{5}-[a-hjkmnp-z2-9]{5}$/);
  expect(new Set(codes).size).toBe(10);
  const link = page.document.querySelector('a[download="backup-codes.txt"]')!.getAttribute('href')!;
  const file = Buffer.from(link.split('base64,')[1]!, 'base64').toString();
  expect(file).toEndWith(`\n${person.email}\n\n${codes.join('\n')}\n`);

  const plain = (code: string) => code.replace('-', '');
  for (const written of [
    codes[0]!.toUpperCase(),
    plain(codes[1]!),
    ` ${[...plain(codes[2]!)].join(' ')} `,
    codes[3]!.replace('-', '\u2013').toUpperCase(),
    codes[4]!.replace('-', ' - '),
  ])
    expect([written, (await giveCode(await signedIn(person), written)).status]).toEqual([written, 303]);
  expect((await visitor.get(PAGE)).textOf('main')).toContain('5 backup codes are left.');
});

test('a sign-in that awaits a code takes its user’s code alone', async () => {
  const [{ person, codes }, other] = [await enrolled(service), await enrolled(service)];
  const [visitor, stranger] = [await signedIn(person), await signedIn(other.person)];
  expect((await giveCode(visitor, other.codes[0]!)).status).toBe(401);
  // Neither backup code is used.
  expect((await giveCode(visitor, codes[0]!)).status).toBe(303);
  expect((await giveCode(stranger, other.codes[0]!)).status).toBe(303);
});

test('five wrong codes want the password again', async () => {
  const { person, codes } = await enrolled(service);
  const visitor = await signedIn(person);
  for (let guess = 0; guess < 5; guess += 1)
    expect((await giveCode(visitor, `AAAAA-0000${guess}`)).status).toBe(401);
  const ended = await giveCode(visitor, codes[0]!);
  expect(ended.headers.get('location')).toBe('/dashboard/sign-in?done=code-ended');
  expect((await visitor.get('/dashboard/sign-in')).textOf('h1')).toBe('Sign in');
});

/** Ten wrong codes in a row, and then a right one, which is refused and not used. @returns the seconds of the lock */
async function lock(person: Person, right: string): Promise<number> {
  for (const _ of [1, 2]) {
    const visitor = await signedIn(person);
    for (let guess = 0; guess < 5; guess += 1) await giveCode(visitor, `AAAAA-0000${guess}`);
  }
  const refused = await giveCode(await signedIn(person), right);
  expect(refused.status).toBe(429);
  return Number(refused.headers.get('retry-after'));
}

test('each lock is twice as long as the one before, up to a day, until a right code; its user has a mail for each', async () => {
  const { person, codes } = await enrolled(service);
  await mail.mailTo(person.email); // it was turned on
  const endLock = async () => {
    await service.sql`
      UPDATE dashboard_second_factors SET "lockedUntil" = now() - interval '1 second' WHERE "userId" = ${person.userId}`;
    await service.sql`DELETE FROM dashboard_attempts`;
  };
  for (const seconds of [900, 1800, 3600]) {
    expect(await lock(person, codes[0]!)).toBeWithin(seconds - 59, seconds + 1);
    expect((await mail.mailTo(person.email)).text).toContain('Ten wrong codes at your sign-in');
    expect(mail.received(person.email)).toBe(0);
    await endLock();
  }
  await service.sql`UPDATE dashboard_second_factors SET locks = 20 WHERE "userId" = ${person.userId}`;
  expect(await lock(person, codes[0]!)).toBeLessThanOrEqual(86_400);
  await endLock();
  expect((await giveCode(await signedIn(person), codes[0]!)).status).toBe(303);
  expect(await lock(person, codes[1]!)).toBeLessThanOrEqual(900);
});

test('a wrong code that was checked while a lock began does not shorten it', async () => {
  const { person } = await enrolled(service);
  await service.sql`UPDATE dashboard_second_factors SET locks = 3 WHERE "userId" = ${person.userId}`;
  for (const _ of ['the lock', 'the code that was checked meanwhile'])
    await service.sql`
      UPDATE dashboard_second_factors SET "lockedUntil" = now() + interval '15 minutes' WHERE "userId" = ${person.userId}`;
  const [row] = await service.sql`
    SELECT locks, "lockedUntil" > now() + interval '119 minutes' AS "isLong" FROM dashboard_second_factors WHERE "userId" = ${person.userId}`;
  expect(row).toMatchObject({ locks: 4, isLong: true });
});

test('of different backup codes that are given at once one signs in, and the other sign-in begins again or does, too', async () => {
  const { person, codes } = await enrolled(service);
  for (const [one, two] of [codes.slice(0, 2), codes.slice(2, 4), codes.slice(4, 6)]) {
    const visitors = await Promise.all([signedIn(person), signedIn(person)]);
    const answers = await Promise.all([giveCode(visitors[0]!, one!), giveCode(visitors[1]!, two!)]);
    const led = answers.map(({ headers }) => headers.get('location')).sort();
    expect(led[0]).toBe('/dashboard');
    expect(['/dashboard', '/dashboard/sign-in?done=code-ended']).toContain(led[1]!);
    await service.sql`DELETE FROM dashboard_attempts`;
  }
});

test('wrong codes that meet send one mail about their lock', async () => {
  const { person } = await enrolled(service);
  await mail.mailTo(person.email);
  await service.sql`
    UPDATE dashboard_second_factors SET "failedVerificationCount" = 9 WHERE "userId" = ${person.userId}`;
  const visitors = await Promise.all([1, 2, 3, 4].map(() => signedIn(person)));
  await Promise.all(visitors.map((visitor, index) => giveCode(visitor, `AAAAA-0000${index}`)));
  expect((await mail.mailTo(person.email)).text).toContain('Ten wrong codes');
  // A second one would have come before this one.
  await visitors[0]!.submit('/dashboard/forgot', { email: person.email });
  expect((await mail.mailTo(person.email)).text).toContain('choose a new password');
  expect(mail.received(person.email)).toBe(0);
});

test('neither a reset of the password nor an invitation leads past it, and a reset ends a sign-in that awaits its code', async () => {
  const { person, codes } = await enrolled(service);
  await mail.mailTo(person.email);
  const waiting = await signedIn(person);

  const visitor = createVisitor(service.baseUrl);
  await visitor.submit('/dashboard/forgot', { email: person.email });
  const password = newPerson().password;
  await visitor.submit(await linkTo(mail, person.email), { password });
  expect(await isSignedIn(visitor)).toBe(false);
  expect((await waiting.get('/dashboard/sign-in')).textOf('h1')).toBe('Sign in');
  await signIn(visitor, { ...person, password });
  expect(await isSignedIn(visitor)).toBe(false);
  await giveCode(visitor, codes[0]!);
  expect(await isSignedIn(visitor)).toBe(true);

  const { accountId, email } = person;
  const { token } = await invite(service.sql, { accountId, email }, 'cli:test');
  const invited = createVisitor(service.baseUrl);
  await invited.submit(`/dashboard/invitation?token=${token}`, { password: newPerson().password });
  expect(await isSignedIn(invited)).toBe(false);
  await giveCode(invited, codes[1]!);
  expect(await isSignedIn(invited)).toBe(true);
});

test('new backup codes and turning it off want the password and a code; an operator turns it off, which ends sessions', async () => {
  const { visitor, person, codes } = await enrolled(service);
  for (const [present, code] of [
    ['not the password', codes[1]!],
    [person.password, ''],
    [person.password, 'AAAAA-00000'],
  ]) {
    for (const form of ['off', 'codes']) {
      const refused = await visitor.submit(`${PAGE}/${form}`, { present, code });
      expect([refused.status, refused.textOf('#backup-codes')]).toEqual([422, null]);
    }
    expect((await visitor.get(PAGE)).textOf('main')).toContain('On: a sign-in asks for a code');
  }
  const renewed = await visitor.submit(`${PAGE}/codes`, { present: person.password, code: codes[1]! });
  const fresh = renewed.document.querySelector('#backup-codes')!.textContent!.split('\n');
  const other = await signedIn(person);
  expect((await giveCode(other, codes[0]!)).status).toBe(401);
  expect((await giveCode(other, fresh[0]!)).status).toBe(303);

  await mail.mailTo(person.email);
  expect((await mail.mailTo(person.email)).text).toContain('Your backup codes were renewed');

  const off = await visitor.submit(`${PAGE}/off`, { present: person.password, code: fresh[1]! });
  expect(off.headers.get('location')).toBe('/dashboard/settings?done=off');
  expect([await isSignedIn(visitor), await isSignedIn(other)]).toEqual([true, false]);
  expect(await isSignedIn(await signedIn(person))).toBe(true);

  const lost = await enrolled(service);
  const { accountId, email } = lost.person;
  const reset = () => resetSecondFactor(service.sql, accountId, email, 'cli:test');
  expect([await reset(), await isSignedIn(lost.visitor)]).toEqual([true, false]);
  expect(await isSignedIn(await signedIn(lost.person))).toBe(true);
  expect(await reset()).toBe(false);
  const [last] = (await loadHistory(service.sql, accountId)).filter(
    ({ kind }) => kind === 'second-factor-off',
  );
  expect(last).toMatchObject({ actor: 'cli:test' });
});
