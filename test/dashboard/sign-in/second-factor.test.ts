/** The second factor of members (src/dashboard/sign-in/second-factor.ts), and its reset by an operator. */
import { afterAll, expect, test } from 'bun:test';
import { invite } from '../../../src/dashboard/account/invitations.ts';
import { resetSecondFactor } from '../../../src/dashboard/auth/members.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { codeOf, enrolled, fieldsOf } from '../enrolled.ts';
import { startMailedDashboard } from '../service.ts';
import {
  createMember,
  createVisitor,
  linkTo,
  newPerson,
  type PageAnswer,
  type Person,
  type Visitor,
} from '../visitor.ts';

const PAGE = '/dashboard/settings/second-factor';
const { service, mail, stop } = await startMailedDashboard();
afterAll(stop);

const isSignedIn = async (visitor: Visitor) => (await visitor.get('/dashboard')).status === 200;
const signIn = (visitor: Visitor, person: Person) => visitor.submit('/dashboard/sign-in', { ...person });
const giveCode = (visitor: Visitor, code: string) => visitor.submit('/dashboard/sign-in/code', { code });
const eventsOf = (member: string) =>
  service.logLines
    .filter(({ msg, member: of }) => msg === 'security' && of === member)
    .map(({ event }) => event);
const idOf = async ({ email }: Person) =>
  (await service.sql`SELECT "id" FROM dashboard_users WHERE "email" = ${email}`)[0]!.id as string;

test('it is set up by a picture or a text, after a code; other sessions end, and a mail and the history say so', async () => {
  const [visitor, other] = [createVisitor(service.baseUrl), createVisitor(service.baseUrl)];
  const person = await createMember(service, { visitor });
  await signIn(other, person);
  const refused = await visitor.submit(`${PAGE}/set-up`, { present: 'not the password' });
  expect([refused.status, refused.textOf('#present-fault')]).toEqual([422, 'The current password is wrong.']);

  const page = await visitor.submit(`${PAGE}/set-up`, { present: person.password });
  const secret = page.textOf('#secret')!;
  const uri = new URL(page.document.querySelector('a[href^="otpauth:"]')!.getAttribute('href')!);
  expect(uri.searchParams.get('secret')).toBe(secret);
  expect(page.document.querySelector('svg.qr')!.getAttribute('aria-label')).toBe('QR code with the secret');
  expect(page.document.querySelector('#code')!.getAttribute('inputmode')).toBe('numeric');
  const wrong = await visitor.post(`${PAGE}/confirm`, { ...fieldsOf(page), code: codeOf(secret, 9) });
  expect([wrong.status, wrong.textOf('#code-fault')]).toEqual([
    422,
    'The code is wrong, too old or used. Wait for the next one.',
  ]);
  for (const kept of ['#secret', '#backup-codes', 'svg.qr'])
    expect([kept, wrong.document.querySelector(kept)!.outerHTML]).toEqual([
      kept,
      page.document.querySelector(kept)!.outerHTML,
    ]);
  expect(await isSignedIn(other)).toBe(true);

  await visitor.post(`${PAGE}/confirm`, { ...fieldsOf(wrong), code: codeOf(secret) });
  expect([await isSignedIn(visitor), await isSignedIn(other)]).toEqual([true, false]);
  expect((await visitor.get(PAGE)).textOf('main')).toContain('10 backup codes are left.');
  expect((await visitor.get('/dashboard/settings/members')).textOf('tbody')).toContain('On');
  expect((await mail.mailTo(person.email)).text).toContain('Your second factor was turned on');
  expect((await loadHistory(service.sql, person.accountId)).at(-1)!.kind).toBe('second-factor-on');
  // Neither is readable in a copy of the database.
  const [row] =
    await service.sql`SELECT * FROM dashboard_second_factors WHERE "userId" = ${await idOf(person)}`;
  expect(JSON.stringify(row)).not.toContain(page.textOf('#backup-codes')!.slice(0, 5));
  const [stored] = await service.sql`SELECT * FROM dashboard_second_factors WHERE "secret" = ${secret}`;
  expect(stored).toBeUndefined();
});

test('a sign-in wants the password, then a code; each code works once; the page that was asked for comes then', async () => {
  const { person, secret, codes } = await enrolled(service);
  const visitor = createVisitor(service.baseUrl);
  await visitor.submit('/dashboard/sign-in?to=%2Fkeys', { ...person });
  expect(await isSignedIn(visitor)).toBe(false);
  expect((await visitor.get('/dashboard/sign-in?to=%2Fkeys')).textOf('h1')).toBe('Enter the code');
  // The code that turned it on is used.
  for (const code of [codeOf(secret), 'AAAAA-BBBBB', '000 000x']) {
    const refused = await giveCode(visitor, code);
    expect([code, refused.status, await isSignedIn(visitor)]).toEqual([code, 401, false]);
  }
  const next = codeOf(secret, 1);
  const answer = await visitor.submit('/dashboard/sign-in?to=%2Fkeys', {
    code: ` ${next.slice(0, 3)} ${next.slice(3)} `,
  });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/dashboard/keys']);
  expect(await isSignedIn(visitor)).toBe(true);

  const again = createVisitor(service.baseUrl);
  await signIn(again, person);
  expect((await giveCode(again, next)).status).toBe(401);
  await giveCode(again, codes[0]!);
  expect(await isSignedIn(again)).toBe(true);
  expect((await again.get(PAGE)).textOf('main')).toContain('9 backup codes are left.');
  const third = createVisitor(service.baseUrl);
  await signIn(third, person);
  expect((await giveCode(third, codes[0]!)).status).toBe(401);
  expect(eventsOf(await idOf(person)).slice(-4)).toEqual([
    'sign-in code failed',
    'sign-in',
    'sign-in code asked',
    'sign-in code failed',
  ]);
});

test('backup codes have no letters that look alike, and work with any case, hyphens and blanks', async () => {
  const { visitor, person, page, codes } = await enrolled(service);
  for (const code of codes) expect(code).toMatch(/^[a-hjkmnp-z2-9]{5}-[a-hjkmnp-z2-9]{5}$/);
  expect(new Set(codes).size).toBe(10);
  const link = page.document.querySelector('a[download="backup-codes.txt"]')!.getAttribute('href')!;
  const file = Buffer.from(link.split('base64,')[1]!, 'base64').toString();
  expect(file).toEndWith(`\n${person.email}\n\n${codes.join('\n')}\n`);
  expect(page.document.querySelector('[data-print]')!.textContent).toBe('Print');

  const plain = (code: string) => code.replace('-', '');
  const ways = [
    (code: string) => code.toUpperCase(),
    plain,
    (code: string) => ` ${[...plain(code)].join(' ')} `,
    (code: string) => code.replace('-', '\u2013').toUpperCase(),
    (code: string) => code.replace('-', ' - '),
  ];
  for (const [index, write] of ways.entries()) {
    const other = createVisitor(service.baseUrl);
    await signIn(other, person);
    expect([index, (await giveCode(other, write(codes[index]!))).status]).toEqual([index, 303]);
  }
  expect((await visitor.get(PAGE)).textOf('main')).toContain('5 backup codes are left.');
});

test('the page of the code leads to a field for a backup code and back, and keeps the page that was asked for', async () => {
  const { person, codes } = await enrolled(service);
  const visitor = createVisitor(service.baseUrl);
  await visitor.submit('/dashboard/sign-in?to=%2Fkeys', { ...person });
  const hrefOf = (page: PageAnswer) => page.document.querySelector('.sheet .aside a')!.getAttribute('href')!;
  const ofApp = await visitor.get('/dashboard/sign-in?to=%2Fkeys');
  expect(ofApp.document.querySelector('#code')!.getAttribute('inputmode')).toBe('numeric');
  const ofBackup = await visitor.get(hrefOf(ofApp));
  expect(ofBackup.textOf('label')).toBe('Backup code');
  expect(ofBackup.document.querySelector('#code')!.hasAttribute('inputmode')).toBe(false);
  expect((await visitor.get(hrefOf(ofBackup))).textOf('h1')).toBe('Enter the code');
  const wrong = await visitor.submit(hrefOf(ofApp), { code: 'aaaaa-bbbbb' });
  expect([wrong.status, wrong.textOf('label'), wrong.textOf('#code-fault')]).toEqual([
    401,
    'Backup code',
    'That is none of your backup codes that are left: ten letters and digits, each code once.',
  ]);
  const right = await visitor.submit(hrefOf(ofApp), { code: codes[0]! });
  expect(right.headers.get('location')).toBe('/dashboard/keys');
});

test('a sign-in that awaits a code takes its user’s code alone, also with the cookies of two users', async () => {
  const [{ person, codes }, { person: other, codes: codesOfOther }] = [
    await enrolled(service),
    await enrolled(service),
  ];
  const [visitor, stranger] = [createVisitor(service.baseUrl), createVisitor(service.baseUrl)];
  await signIn(visitor, person);
  await signIn(stranger, other);
  const mixed = createVisitor(service.baseUrl);
  mixed.cookies.set('dashboard.two_factor', visitor.cookies.get('dashboard.two_factor')!);
  mixed.cookies.set('dashboard.code_owner', stranger.cookies.get('dashboard.code_owner')!);
  expect((await mixed.get('/dashboard/sign-in')).textOf('h1')).toBe('Sign in');
  for (const code of [codes[0]!, codesOfOther[0]!]) {
    const answer = await giveCode(mixed, code);
    expect(answer.headers.get('location')).toBe('/dashboard/sign-in?done=code-ended');
    mixed.cookies.set('dashboard.code_owner', stranger.cookies.get('dashboard.code_owner')!);
  }
  expect((await giveCode(visitor, codesOfOther[0]!)).status).toBe(401);
  // Neither backup code is used.
  expect((await giveCode(visitor, codes[0]!)).status).toBe(303);
  expect((await giveCode(stranger, codesOfOther[0]!)).status).toBe(303);
  expect([visitor, stranger].map(({ cookies }) => cookies.has('dashboard.code_owner'))).toEqual([
    false,
    false,
  ]);
});

test('five wrong codes want the password again, and ten lock the codes for 15 minutes', async () => {
  const { person, codes } = await enrolled(service);
  const visitor = createVisitor(service.baseUrl);
  for (const round of [1, 2]) {
    await signIn(visitor, person);
    for (let guess = 0; guess < 5; guess += 1) {
      expect([round, (await giveCode(visitor, `AAAAA-0000${guess}`)).status]).toEqual([round, 401]);
    }
    if (round === 1) {
      const ended = await giveCode(visitor, codes[0]!);
      expect(ended.headers.get('location')).toBe('/dashboard/sign-in?done=code-ended');
      expect((await visitor.get('/dashboard/sign-in')).textOf('h1')).toBe('Sign in');
    }
  }
  await signIn(visitor, person);
  const locked = await giveCode(visitor, codes[0]!);
  expect([locked.status, locked.headers.get('retry-after')]).toEqual([429, '900']);
  await service.sql`UPDATE dashboard_second_factors SET "lockedUntil" = now() WHERE "userId" = ${await idOf(person)}`;
  expect((await giveCode(visitor, codes[0]!)).status).toBe(303);
});

test('neither a reset of the password nor an invitation leads past it, and a reset ends a sign-in that awaits its code', async () => {
  const { person, codes } = await enrolled(service);
  await mail.mailTo(person.email);
  const waiting = createVisitor(service.baseUrl);
  await signIn(waiting, person);

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

  const { accountId } = (
    await service.sql`
    SELECT account_id AS "accountId" FROM dashboard_members WHERE user_id = ${await idOf(person)}`
  )[0]!;
  const { token } = await invite(service.sql, { accountId, email: person.email }, 'cli:test');
  const invited = createVisitor(service.baseUrl);
  await invited.submit(`/dashboard/invitation?token=${token}`, { password: newPerson().password });
  expect(await isSignedIn(invited)).toBe(false);
  await giveCode(invited, codes[1]!);
  expect(await isSignedIn(invited)).toBe(true);
});

test('new backup codes and turning it off want the password and a code; an operator turns it off, which ends sessions', async () => {
  const { visitor, person, codes } = await enrolled(service);
  const attempts = [
    { present: 'not the password', code: codes[1]! },
    { present: person.password, code: '' },
    { present: person.password, code: 'AAAAA-00000' },
  ];
  for (const attempt of attempts) {
    for (const form of ['off', 'codes']) {
      const refused = await visitor.submit(`${PAGE}/${form}`, attempt);
      expect([refused.status, refused.textOf('#backup-codes')]).toEqual([422, null]);
    }
    expect((await visitor.get(PAGE)).textOf('main')).toContain('On: a sign-in asks for a code');
  }
  const renewed = await visitor.submit(`${PAGE}/codes`, { present: person.password, code: codes[1]! });
  const fresh = renewed.document.querySelector('#backup-codes')!.textContent!.split('\n');
  const other = createVisitor(service.baseUrl);
  await signIn(other, person);
  expect((await giveCode(other, codes[0]!)).status).toBe(401);
  expect((await giveCode(other, fresh[0]!)).status).toBe(303);

  await mail.mailTo(person.email);
  expect((await mail.mailTo(person.email)).text).toContain('Your backup codes were renewed');

  const off = await visitor.submit(`${PAGE}/off`, { present: person.password, code: fresh[1]! });
  expect(off.headers.get('location')).toBe('/dashboard/settings?done=off');
  expect([await isSignedIn(visitor), await isSignedIn(other)]).toEqual([true, false]);
  await signIn(other, person);
  expect(await isSignedIn(other)).toBe(true);

  const lost = await enrolled(service);
  const { accountId } = lost.person;
  expect(await resetSecondFactor(service.sql, accountId, lost.person.email, 'cli:test')).toBe(true);
  expect(await isSignedIn(lost.visitor)).toBe(false);
  await signIn(lost.visitor, lost.person);
  expect(await isSignedIn(lost.visitor)).toBe(true);
  expect(await resetSecondFactor(service.sql, accountId, lost.person.email, 'cli:test')).toBe(false);
  expect((await loadHistory(service.sql, accountId)).map(({ kind, actor }) => [kind, actor])).toContainEqual([
    'second-factor-off',
    'cli:test',
  ]);
});

test('its forms are refused without their token', async () => {
  const { visitor, person, codes } = await enrolled(service);
  const waiting = createVisitor(service.baseUrl);
  await signIn(waiting, person);
  expect((await waiting.post('/dashboard/sign-in/code', { code: codes[0]! })).status).toBe(403);
  for (const path of ['/set-up', '/confirm', '/codes', '/off'])
    expect((await visitor.post(PAGE + path, { present: person.password })).status).toBe(403);
  expect((await giveCode(waiting, codes[0]!)).status).toBe(303);
});
