/** Owners and members, invitations by owners, and the one account of a user (src/dashboard/account/members-page.ts). */
import { afterAll, expect, test } from 'bun:test';
import {
  acceptInvitation,
  createUser,
  invite,
  listInvitations,
} from '../../../src/dashboard/account/invitations.ts';
import { changeMember, accountOf as getAccountOf, listMembers } from '../../../src/dashboard/auth/members.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { codeOf } from '../../../src/platform/errors.ts';
import { startDashboardService, startMailedDashboard } from '../service.ts';
import {
  createMember,
  createVisitor,
  formTokenOf,
  linkTo,
  newPerson,
  type Person,
  type Visitor,
} from '../visitor.ts';

const MEMBERS = '/dashboard/settings/members';
const INVITE = 'main section form';
const { service, mail, stop } = await startMailedDashboard();
const strict = await startDashboardService({ SECOND_FACTOR: 'owners' });
afterAll(async () => {
  await strict.stop();
  await stop();
});

const visit = () => createVisitor(service.baseUrl);
const idOf = async ({ email }: Person) =>
  (await service.sql`SELECT "id" FROM dashboard_users WHERE "email" = ${email}`)[0]!.id as string;
const signIn = (visitor: Visitor, person: Person) => visitor.submit('/dashboard/sign-in', { ...person });
const rolesOf = async (accountId: string) =>
  (await listMembers(service.sql, accountId)).map(({ email, role }) => [email, role]);
const accountOf = async (visitor: Visitor) => (await visitor.get('/dashboard/settings')).textOf('dl code');

/** An owner, and a member that they have invited by mail; both are signed in. */
async function ownerAndMember() {
  const [ana, rui, other] = [visit(), visit(), newPerson('Rui')];
  const person = await createMember(service, { visitor: ana });
  const invitation = { email: other.email, role: 'member', present: person.password };
  const answer = await ana.submit(MEMBERS, invitation, { form: INVITE });
  expect(answer.headers.get('location')).toBe('/dashboard/settings/members?done=invited');
  await rui.submit(await linkTo(mail, other.email), { name: other.name, password: other.password });
  return { accountId: person.accountId, ana, person, rui, other };
}

test('an owner invites by mail: the invitation is pending, is sent again, and is dead when it is withdrawn', async () => {
  const { visitor: ana, accountId, email, password } = await createMember(service);
  const invite = (fields: Record<string, string>) => ana.submit(MEMBERS, fields, { form: INVITE });
  expect((await invite({ email, present: password })).textOf('#email-fault')).toBe(
    'This address already belongs to a member.',
  );
  const invited = newPerson().email;
  const wrong = await invite({ email: invited, present: 'not the password' });
  expect([wrong.status, wrong.textOf('#present-fault')]).toEqual([422, 'The current password is wrong.']);
  expect(await listInvitations(service.sql, accountId)).toEqual([]);

  await invite({ email: invited.toUpperCase(), role: 'member', present: password });
  const first = await linkTo(mail, invited);
  expect((await ana.get(MEMBERS)).textOf('#pending tbody')).toContain(`${invited} Member`);
  await ana.submit(MEMBERS, {}, { form: '#pending form' });
  const second = await linkTo(mail, invited);
  expect([(await visit().get(first)).status, (await visit().get(second)).status]).toEqual([404, 200]);
  expect(await listInvitations(service.sql, accountId)).toMatchObject([{ email: invited, role: 'member' }]);
  await ana.submit(MEMBERS, {}, { form: '#pending form[action$=withdraw]' });
  expect((await visit().get(second)).status).toBe(404);
  expect((await ana.get(MEMBERS)).document.querySelector('#pending')).toBeNull();
  expect((await loadHistory(service.sql, accountId)).map(({ kind }) => kind).slice(-3)).toEqual([
    'member-invited',
    'member-invited',
    'invitation-withdrawn',
  ]);
});

test('a member can neither invite, withdraw, remove an owner nor delete the account; they can leave', async () => {
  const { accountId, ana, person, rui, other } = await ownerAndMember();
  expect(await rolesOf(accountId)).toContainEqual([other.email, 'member']);
  const page = await rui.get(MEMBERS);
  const removable = [...page.document.querySelectorAll('a[href$="/remove"]')].map((link) =>
    link.getAttribute('href'),
  );
  expect(removable).toEqual([`${MEMBERS}/${await idOf(other)}/remove`]);
  expect([
    page.document.querySelector(INVITE),
    (await rui.get('/dashboard/settings')).document.querySelector('a[href$="/delete"]'),
  ]).toEqual([null, null]);

  const settings = await rui.get('/dashboard/settings');
  const form_token = settings.document.querySelector('main [name=form_token]')!.getAttribute('value')!;
  const present = other.password;
  const account = (await rui.get('/dashboard')).textOf('.account strong')!;
  const sent: [path: string, fields: Record<string, string>][] = [
    [MEMBERS, { email: newPerson().email, role: 'owner', present }],
    [`${MEMBERS}/withdraw`, { email: person.email }],
    [`${MEMBERS}/${await idOf(person)}/remove`, { present }],
    ['/dashboard/settings/delete', { name: account, present }],
  ];
  for (const [path, fields] of sent)
    expect([path, (await rui.post(path, { form_token, ...fields })).status]).toEqual([path, 403]);
  expect([(await rolesOf(accountId)).length, await accountOf(ana)]).toEqual([2, accountId]);

  const left = await rui.submit(`${MEMBERS}/${await idOf(other)}/remove`, { present });
  expect(left.headers.get('location')).toBe('/dashboard/sign-in?done=left');
  expect((await signIn(rui, other)).status).toBe(401);
});

test('the last owner stays, with members or alone', async () => {
  const { ana, person } = await ownerAndMember();
  const answer = await ana.submit(`${MEMBERS}/${await idOf(person)}/remove`, { present: person.password });
  expect([answer.status, answer.textOf('[role=alert]')]).toEqual([
    409,
    'This is the last owner. Make another member an owner first, or delete the account.',
  ]);
});

test('an invitation to an address of another account is mailed; its page accepts it only after the user has left that one', async () => {
  const { accountId, ana, person } = await ownerAndMember();
  const second = await ownerAndMember();
  const { other: eva, rui: browser } = second;
  const answer = await ana.submit(MEMBERS, { email: eva.email, present: person.password }, { form: INVITE });
  // The inviter does not learn that the address has an account.
  expect(answer.headers.get('location')).toBe('/dashboard/settings/members?done=invited');
  const link = await linkTo(mail, eva.email);
  const token = new URL(link, service.baseUrl).searchParams.get('token');
  for (const visitor of [browser, visit()]) {
    const page = await visitor.get(link);
    expect([page.status, page.textOf('h1')]).toEqual([409, 'This address belongs to another account']);
    expect(page.textOf('main')).toContain('Have another address invited, or leave');
    expect(page.document.querySelector('main form')).toBeNull();
    const form_token = await formTokenOf(visitor, visitor === browser ? '/dashboard/settings' : undefined);
    const sent = await visitor.post('/dashboard/invitation', {
      token,
      name: 'Eva',
      password: 'x',
      form_token,
    });
    expect(sent.status).toBe(409);
  }
  expect(await accountOf(browser)).toBe(second.accountId);
  expect((await rolesOf(accountId)).length).toBe(2);

  await browser.submit(`${MEMBERS}/${await idOf(eva)}/remove`, { present: eva.password });
  const password = newPerson().password;
  await browser.submit(link, { name: 'Eva', password });
  expect(await accountOf(browser)).toBe(accountId);
  expect(await rolesOf(accountId)).toContainEqual([eva.email, 'member']);
  expect((await signIn(visit(), { ...eva, password })).status).toBe(303);
});

test('the database lets no user belong to two accounts', async () => {
  const { email } = await createMember(service);
  const { id } = await createAccount(service.sql, { name: 'Second', plan: 'free' }, 'test');
  const insert = service.sql`
    INSERT INTO dashboard_members (user_id, account_id) SELECT "id", ${id} FROM dashboard_users WHERE "email" = ${email}`;
  expect(await insert.catch(codeOf)).toBe('23505');
});

test('of a removal, a first request, and invitations to two accounts at the same time, one account is left', async () => {
  const { sql } = service;
  const create = () => createAccount(sql, { name: 'Race', plan: 'free' }, 'test');
  for (let round = 0; round < 5; round += 1) {
    const [{ id: one }, { id: two }] = [await create(), await create()];
    const { accountId, other } = await ownerAndMember();
    const { id: newcomer, email } = { id: `new ${round}`, ...newPerson() };
    await sql`INSERT INTO dashboard_users ("id", "name", "email", "emailVerified") VALUES (${newcomer}, 'New', ${email}, true)`;
    const user = { id: newcomer, name: 'New', email, emailVerified: true, hasSecondFactor: false };
    const tokens = await Promise.all(
      [one, two].flatMap((id) =>
        [other.email, email].map(
          async (email) => (await invite(sql, { accountId: id, email }, 'test')).token,
        ),
      ),
    );
    await Promise.all([
      changeMember(sql, accountId, (member) => member.email === other.email, 'removed', 'test'),
      getAccountOf(sql, user, 'en'),
      ...tokens.map((token) => acceptInvitation(sql, token, 'Eva', 'scrypt')),
    ]);
    const rows = await sql<{ email: string; accounts: number }[]>`
      SELECT u."email", count(*) AS accounts FROM dashboard_users u JOIN dashboard_members m ON m.user_id = u."id"
      WHERE u."email" IN (${email}, ${other.email}) GROUP BY u."email"`;
    expect(rows.every(({ accounts }) => accounts === 1)).toBe(true);
    expect(rows.map((row) => row.email)).toContain(email);
  }
});

test('the pending invitations of an owner end when they are removed', async () => {
  const { accountId, ana, person, other, rui } = await ownerAndMember();
  await service.sql`UPDATE dashboard_members SET role = 'owner' WHERE user_id = ${await idOf(other)}`;
  const { email } = newPerson();
  await rui.submit(MEMBERS, { email, role: 'owner', present: other.password }, { form: INVITE });
  const link = await linkTo(mail, email);
  await ana.submit(`${MEMBERS}/${await idOf(other)}/remove`, { present: person.password });
  expect((await visit().get(link)).status).toBe(404);
  expect(await listInvitations(service.sql, accountId)).toEqual([]);
});

test('with SECOND_FACTOR=owners, owners set one up before anything else, and members need none', async () => {
  const { id } = await createAccount(strict.sql, { name: 'Strict', plan: 'free' }, 'test');
  const [owner, member] = [newPerson(), newPerson()];
  await createUser(strict.sql, id, owner, 'test');
  await createUser(strict.sql, id, member, 'test');
  await strict.sql`
    UPDATE dashboard_members SET role = 'member' WHERE user_id = (
      SELECT "id" FROM dashboard_users WHERE "email" = ${member.email})`;
  const [ana, rui] = [createVisitor(strict.baseUrl), createVisitor(strict.baseUrl)];
  await signIn(ana, owner);
  await signIn(rui, member);
  expect((await rui.get('/dashboard/keys')).status).toBe(200);
  const answer = await ana.get('/dashboard/keys');
  expect(answer.headers.get('location')).toBe('/dashboard/settings/second-factor');
  expect((await ana.get('/dashboard/settings/second-factor')).textOf('main')).toContain(
    'Owners of an account need',
  );
});

test('an owner changes the role of a member with their password, the last owner stays, and the history has it', async () => {
  const { accountId, ana, person, rui, other } = await ownerAndMember();
  const path = async (of: Person) => `${MEMBERS}/${await idOf(of)}/role`;
  expect((await rui.get(await path(other))).status).toBe(403);
  const wrong = await ana.submit(await path(other), { role: 'owner', present: 'not the password' });
  expect([wrong.status, await rolesOf(accountId)]).toEqual([
    422,
    expect.arrayContaining([[other.email, 'member']]),
  ]);
  const last = await ana.submit(await path(person), { role: 'member', present: person.password });
  expect([last.status, last.textOf('[role=alert]')]).toEqual([
    409,
    'This is the last owner. Make another member an owner first, or delete the account.',
  ]);
  const changed = await ana.submit(await path(other), { role: 'owner', present: person.password });
  expect(changed.headers.get('location')).toBe(`${MEMBERS}?done=role`);
  expect(await rolesOf(accountId)).toContainEqual([other.email, 'owner']);
  // The same role again is no change, and no page says that it was one.
  const same = await ana.submit(await path(other), { role: 'owner', present: person.password });
  expect(same.headers.get('location')).toBe(MEMBERS);
  const list = await ana.get(MEMBERS);
  expect([...list.document.querySelectorAll('td a')].map((link) => link.textContent!).toSorted()).toEqual([
    ...['Change', 'Change', 'Leave', 'Remove'],
  ]);
  const stepped = await ana.submit(await path(person), { role: 'member', present: person.password });
  expect(stepped.status).toBe(303);
  expect((await loadHistory(service.sql, accountId)).slice(-2)).toMatchObject([
    { kind: 'role-changed', detail: { role: 'owner' } },
    { kind: 'role-changed', detail: { role: 'member' } },
  ]);
  expect((await ana.get(await path(other))).status).toBe(403);
});

test('an owner renames the account, a member does not; the pages, the mails and the history have it', async () => {
  const { accountId, ana, person, rui } = await ownerAndMember();
  const path = '/dashboard/settings/name';
  expect((await rui.get(path)).document.querySelector('[name=account]')).toBeNull();
  await rui.submit(path, { account: 'Of Rui' });
  expect((await ana.get('/dashboard')).text).not.toContain('Of Rui');
  expect((await ana.submit(path, { account: ' ' })).textOf('#account-fault')).toContain('1 to 200');
  await ana.submit(path, { account: 'Café Sol' });
  expect((await ana.get('/dashboard')).textOf('header summary .cut')).toBe('Café Sol');
  expect((await loadHistory(service.sql, accountId)).at(-1)!.kind).toBe('account-renamed');
  await visit().submit('/dashboard/forgot', { email: person.email });
  expect((await mail.mailTo(person.email)).text).toContain('Account: Café Sol');
});
