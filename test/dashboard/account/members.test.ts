/** Owners and members of an account, their invitations, and the one account of a user (docs/members.md: members). */
import { afterAll, expect, spyOn, test } from 'bun:test';
import * as invitations from '../../../src/dashboard/account/invitations.ts';
import {
  acceptInvitation,
  createUser,
  findInvitation,
  invite,
  listInvitations,
  withdrawInvitation,
} from '../../../src/dashboard/account/invitations.ts';
import { deleteAccount } from '../../../src/dashboard/account-data/wings.ts';
import {
  accountOf,
  actorOf,
  changeMember,
  listMembers,
  type Role,
  renameAccount,
} from '../../../src/dashboard/auth/members.ts';
import { MESSAGES } from '../../../src/dashboard/messages.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { NotOwnerError } from '../../../src/metering/accounts/rights.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { lockRow, waitingForLock } from '../../support/locks.ts';
import { until } from '../../support/until.ts';
import { startDashboardService, startMailedDashboard } from '../service.ts';
import {
  acceptAs,
  createMember,
  createVisitor,
  formTokenOf,
  linkTo,
  newPerson,
  type PageAnswer,
  type Person,
  usageStatus,
  type Visitor,
} from '../visitor.ts';

const MEMBERS = '/dashboard/settings/members';
const INVITE = 'main section form';
const LAST_OWNER = [409, MESSAGES.en.lastMember];
const { service, mail, stop } = await startMailedDashboard();
const { sql } = service;
afterAll(stop);

const visit = () => createVisitor(service.baseUrl);
const statusOf = async (visitor: Visitor) => (await visitor.get('/dashboard')).status;
const signIn = async (visitor: Visitor, person: Person) =>
  (await visitor.submit('/dashboard/sign-in', { ...person })).status;
const kindsOf = async (accountId: string): Promise<string[]> =>
  (await loadHistory(sql, accountId)).map(({ kind }) => kind);
const rolesOf = async (accountId: string) =>
  (await listMembers(sql, accountId)).map(({ email, role }) => [email, role]);
const memberOf = async (accountId: string, { email }: Pick<Person, 'email'>) =>
  (await listMembers(sql, accountId)).find((member) => member.email === email)!;
/** Removes a member, or gives them a role, as an operator does. */
const change = (accountId: string, { id }: { id: string }, to: Role | 'removed', actor = 'test') =>
  changeMember(sql, accountId, (member) => member.id === id, to, actor);
const removalsOf = (page: PageAnswer) => page.linksOf('a[href$="/remove"]');
const inviteBy = async ({ visitor, password }: { visitor: Visitor; password: string }, fields: object) => {
  const answer = await visitor.submit(MEMBERS, { present: password, ...fields }, { form: INVITE });
  return [answer.status, answer.textOf('[role=alert]')];
};

/** An account with an owner and another member, both signed in. */
async function twoMembers(role: Role = 'owner') {
  const { visitor: ana, accountId, ...person } = await createMember(service);
  const [rui, other] = [visit(), newPerson('Rui')];
  await createUser(sql, accountId, other, 'cli:operator');
  const [ofAna, ofRui] = [await memberOf(accountId, person), await memberOf(accountId, other)];
  await sql`UPDATE dashboard_members SET role = ${role} WHERE user_id = ${ofRui.id}`;
  await signIn(rui, other);
  const path = (of: { id: string }, form: 'remove' | 'role') => `${MEMBERS}/${of.id}/${form}`;
  return { accountId, ana, person, ofAna, rui, other, ofRui, path };
}

test('the list has every member with their name, since when, and their last sign-in', async () => {
  const { ana, person, other, ofRui } = await twoMembers();
  await sql`UPDATE dashboard_users SET "createdAt" = '2026-03-01T09:30:00Z' WHERE "id" = ${ofRui.id}`;
  await sql`UPDATE dashboard_members SET signed_in_at = '2026-04-02T10:45:00Z' WHERE user_id = ${ofRui.id}`;
  const page = await ana.get(MEMBERS);
  const rows = page.cellsOf('tbody tr').map((cells) => cells.slice(0, 5));
  expect(rows).toContainEqual([other.email, 'Rui', 'OwnerChange', '1 Mar 2026', '2 Apr 2026']);
  expect(rows.map(([email]) => email)).toContain(`${person.email} You`);
  expect(removalsOf(page)).toHaveLength(2);
});

test('the last owner stays, alone or with members', async () => {
  const { accountId, ana, person, ofAna, ofRui, path } = await twoMembers('member');
  for (const isAlone of [false, true]) {
    for (const form of ['remove', 'role'] as const) {
      const answer = await ana.submit(path(ofAna, form), { role: 'member', present: person.password });
      expect([answer.status, answer.textOf('[role=alert]')]).toEqual(LAST_OWNER);
    }
    expect(removalsOf(await ana.get(MEMBERS))).toHaveLength(isAlone ? 0 : 2);
    await change(accountId, ofRui, 'removed');
  }
  expect(await statusOf(ana)).toBe(200);
});

test('a removed member’s session ends at once; they and their links don’t sign in again; others and keys stay', async () => {
  const { accountId, ana, person, rui, other, ofRui, path } = await twoMembers();
  const { secret } = await createKey(sql, accountId, 'prod', actorOf(ofRui));
  const { token } = await invite(sql, { accountId, email: other.email }, 'cli:operator');
  const removal = path(ofRui, 'remove');
  expect((await ana.get(removal)).textOf('main strong')).toBe(other.email);
  const answer = await ana.submit(removal, { present: person.password });
  expect(answer.place()).toEqual([303, `${MEMBERS}?done=removed`]);
  expect((await ana.get(`${MEMBERS}?done=removed`)).textOf('[role=status]')).toBe('The member is removed.');
  expect([await statusOf(rui), await statusOf(ana), await signIn(rui, other)]).toEqual([303, 200, 401]);
  expect(await findInvitation(sql, token)).toBeNull();
  expect(await rolesOf(accountId)).toEqual([[person.email, 'owner']]);
  expect((await kindsOf(accountId)).slice(-3)).toEqual(['key-created', 'member-invited', 'member-removed']);
  expect(await usageStatus(service, secret)).toBe(200);
  // Sent again, as a second click does.
  expect((await ana.get(removal)).status).toBe(404);
});

test('a member of another account is as unknown as nobody', async () => {
  const [{ ana, person }, { ofRui, rui, path }] = [await twoMembers(), await twoMembers()];
  expect((await ana.get(path(ofRui, 'remove'))).status).toBe(404);
  const form_token = await formTokenOf(ana, '/dashboard/settings/name');
  const answer = await ana.post(path(ofRui, 'remove'), { form_token, present: person.password });
  // Without the notice that a member is removed.
  expect(answer.place()).toEqual([303, MEMBERS]);
  expect(await statusOf(rui)).toBe(200);
});

test('of two members who remove each other at the same time one stays, also with an acceptance and a sign-in', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { accountId, ofAna, ofRui, other } = await twoMembers();
    const { token } = await invite(sql, { accountId, email: other.email }, 'test');
    const [one, two] = await Promise.all([
      change(accountId, ofAna, 'removed'),
      change(accountId, ofRui, 'removed'),
      acceptInvitation(sql, token, 'Rui', 'scrypt'),
      signIn(visit(), other),
    ]);
    expect((await listMembers(sql, accountId)).length).toBe(1);
    expect([one, two].filter((outcome) => outcome === 'last')).toHaveLength(1);
  }
});

test('an account has at most a hundred members and pending invitations, however many are invited at once', async () => {
  const { accountId, other } = await twoMembers();
  const inviteAs = (email: string) => invite(sql, { accountId, email }, 'cli:operator');
  const emails = Array.from({ length: 105 }, (_, index) => `${index}-${accountId}@example.com`.toLowerCase());
  const outcomes = await Promise.allSettled(emails.map(inviteAs));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(98);
  // New passwords for members, and an invitation in place of another one, take no further place.
  for (const member of await listMembers(sql, accountId)) await inviteAs(member.email);
  await expect(inviteAs('new@example.com')).rejects.toThrow('100 members and pending invitations');
  await sql`DELETE FROM dashboard_invitations WHERE account_id = ${accountId} AND email = ${other.email}`;
  const [pending] = await listInvitations(sql, accountId);
  await inviteAs(pending!.email);
});

test('an owner invites by mail: the invitation is pending, is sent again, and is dead when it is withdrawn', async () => {
  const owner = await createMember(service);
  const { visitor: ana, accountId, email } = owner;
  expect(await inviteBy(owner, { email })).toEqual([422, 'This address already belongs to a member.']);
  const invited = newPerson().email;
  await inviteBy(owner, { email: invited.toUpperCase(), role: 'member' });
  const first = await linkTo(mail, invited);
  expect((await ana.get(MEMBERS)).textOf('#pending tbody')).toContain(`${invited} Member`);
  await ana.submit(MEMBERS, {}, { form: '#pending form' });
  const second = await linkTo(mail, invited);
  expect([(await visit().get(first)).status, (await visit().get(second)).status]).toEqual([404, 200]);
  expect(await listInvitations(sql, accountId)).toMatchObject([{ email: invited, role: 'member' }]);
  await ana.submit(MEMBERS, {}, { form: '#pending form[action$=withdraw]' });
  expect((await visit().get(second)).status).toBe(404);
  expect((await ana.get(MEMBERS)).document.querySelector('#pending')).toBeNull();
  const kinds = (await kindsOf(accountId)).slice(-3);
  expect(kinds).toEqual(['member-invited', 'member-invited', 'invitation-withdrawn']);
});

test('a member can neither invite, withdraw, remove an owner nor delete the account; they can leave', async () => {
  const { accountId, ana, person, ofAna, rui, other, ofRui, path } = await twoMembers('member');
  const page = await rui.get(MEMBERS);
  expect(removalsOf(page)).toEqual([path(ofRui, 'remove')]);
  expect(page.document.querySelector(INVITE)).toBeNull();
  expect((await rui.get('/dashboard/settings')).linksOf('a[href$="/delete"]')).toEqual([]);

  const form_token = await formTokenOf(rui, '/dashboard/settings');
  const present = other.password;
  for (const [address, fields] of [
    [MEMBERS, { email: newPerson().email, role: 'owner' }],
    [`${MEMBERS}/withdraw`, { email: person.email }],
    [path(ofAna, 'remove'), {}],
    [path(ofRui, 'role'), { role: 'owner' }],
    ['/dashboard/settings/delete', { name: person.name }],
  ] as const) {
    const { status } = await rui.post(address, { form_token, present, ...fields });
    expect([address, status]).toEqual([address, 403]);
  }
  expect([(await rolesOf(accountId)).length, await statusOf(ana)]).toEqual([2, 200]);

  const left = await rui.submit(path(ofRui, 'remove'), { present });
  expect(left.headers.get('location')).toBe('/dashboard/sign-in?done=left');
  expect(await signIn(rui, other)).toBe(401);
});

test('an invitation to an address of another account is mailed; its page accepts it only after the user has left that one', async () => {
  const [{ accountId, ana, person }, second] = [await twoMembers(), await twoMembers('member')];
  const { other: eva, rui: browser } = second;
  // The inviter does not learn that the address has an account.
  expect(await inviteBy({ visitor: ana, ...person }, { email: eva.email })).toEqual([303, null]);
  const link = await linkTo(mail, eva.email);
  const token = new URL(link, service.baseUrl).searchParams.get('token');
  const accountIn = async (visitor: Visitor) => (await visitor.get('/dashboard/settings')).textOf('dl code');
  for (const visitor of [browser, visit()]) {
    const page = await visitor.get(link);
    expect([page.status, page.textOf('h1')]).toEqual([409, 'This address belongs to another account']);
    expect(page.textOf('main')).toContain('Have another address invited, or leave');
    expect(page.document.querySelector('main form')).toBeNull();
    const form_token = await formTokenOf(visitor, visitor === browser ? '/dashboard/settings' : undefined);
    const fields = { token, name: 'Eva', password: 'x', form_token };
    expect((await visitor.post('/dashboard/invitation', fields)).status).toBe(409);
  }
  expect([await accountIn(browser), (await rolesOf(accountId)).length]).toEqual([second.accountId, 2]);

  await browser.submit(second.path(second.ofRui, 'remove'), { present: eva.password });
  const password = newPerson().password;
  await browser.submit(link, { name: 'Eva', password });
  expect(await accountIn(browser)).toBe(accountId);
  expect(await rolesOf(accountId)).toContainEqual([eva.email, 'member']);
  expect(await signIn(visit(), { ...eva, password })).toBe(303);
});

test('of a removal, a first request, and invitations to two accounts at the same time, one account is left', async () => {
  const create = () => createAccount(sql, { name: 'Race', plan: 'free' }, 'test');
  for (let round = 0; round < 5; round += 1) {
    const [{ id: one }, { id: two }] = [await create(), await create()];
    const { accountId, other, ofRui } = await twoMembers('member');
    const { id, name, email } = { id: `new ${round}`, ...newPerson() };
    await sql`INSERT INTO dashboard_users ("id", "name", "email", "emailVerified") VALUES (${id}, ${name}, ${email}, true)`;
    const invited = [one, two].flatMap((accountId) => [
      invite(sql, { accountId, email: other.email }, 'test'),
      invite(sql, { accountId, email }, 'test'),
    ]);
    const links = await Promise.all(invited);
    await Promise.all([
      change(accountId, ofRui, 'removed'),
      accountOf(sql, { id, name, email, hasSecondFactor: false }, 'en'),
      ...links.map(({ token }) => acceptInvitation(sql, token, 'Eva', 'scrypt')),
    ]);
    const rows = await sql<{ email: string; accounts: number }[]>`
      SELECT u."email", count(*) AS accounts FROM dashboard_users u JOIN dashboard_members m ON m.user_id = u."id"
      WHERE u."email" IN (${email}, ${other.email}) GROUP BY u."email"`;
    expect(rows.every(({ accounts }) => accounts === 1)).toBe(true);
    expect(rows.map((row) => row.email)).toContain(email);
  }
});

test('with SECOND_FACTOR=owners, owners set one up before anything else, and members need none', async () => {
  await using strict = await startDashboardService({ SECOND_FACTOR: 'owners' });
  const [owner, member] = [await createMember(strict), await createMember(strict)];
  await strict.sql`UPDATE dashboard_members SET role = 'member' WHERE account_id = ${member.accountId}`;
  expect((await member.visitor.get('/dashboard/keys')).status).toBe(200);
  const answer = await owner.visitor.get('/dashboard/keys');
  expect(answer.headers.get('location')).toBe('/dashboard/settings/second-factor');
  const page = await owner.visitor.get('/dashboard/settings/second-factor');
  expect(page.textOf('main')).toContain('Owners of an account need');
});

test('an owner changes the role of a member, and their own, and the history has it', async () => {
  const { accountId, ana, person, ofAna, other, ofRui, path } = await twoMembers('member');
  const give = async (of: { id: string }, role: Role) =>
    (await ana.submit(path(of, 'role'), { role, present: person.password })).headers.get('location');
  expect(await give(ofRui, 'owner')).toBe(`${MEMBERS}?done=role`);
  expect(await rolesOf(accountId)).toContainEqual([other.email, 'owner']);
  // The same role again is no change, and no page says that it was one.
  expect(await give(ofRui, 'owner')).toBe(MEMBERS);
  const actions = (await ana.get(MEMBERS)).textsOf('td a');
  expect(actions.toSorted()).toEqual(['Change', 'Change', 'Leave', 'Remove']);
  expect(await give(ofAna, 'member')).toBe(`${MEMBERS}?done=role`);
  expect((await loadHistory(sql, accountId)).slice(-2)).toMatchObject([
    { kind: 'role-changed', detail: { role: 'owner' } },
    { kind: 'role-changed', detail: { role: 'member' } },
  ]);
  expect((await ana.get(path(ofRui, 'role'))).status).toBe(403);
});

test('an owner renames the account, a member does not; the pages, the mails and the history have it', async () => {
  const { accountId, ana, person, rui } = await twoMembers('member');
  const path = '/dashboard/settings/name';
  expect((await rui.get(path)).document.querySelector('[name=account]')).toBeNull();
  await rui.submit(path, { account: 'Of Rui' });
  expect((await ana.get('/dashboard')).text).not.toContain('Of Rui');
  expect((await ana.submit(path, { account: ' ' })).textOf('#account-fault')).toContain('1 to 200');
  await ana.submit(path, { account: 'Café Sol' });
  expect((await ana.get('/dashboard')).textOf('header summary .cut')).toBe('Café Sol');
  expect((await kindsOf(accountId)).at(-1)).toBe('account-renamed');
  await visit().submit('/dashboard/forgot', { email: person.email });
  expect((await mail.mailTo(person.email)).text).toContain('Account: Café Sol');
});

test('an invitation without a role keeps the role that its reader has, and ends if that changes', async () => {
  const { accountId, ofAna, other, ofRui } = await twoMembers('member');
  const inviteAgain = async () => (await invite(sql, { accountId, email: other.email }, 'cli:op')).token;
  const reset = await inviteAgain();
  expect(await listInvitations(sql, accountId)).toMatchObject([{ role: 'member' }]);
  await acceptInvitation(sql, reset, 'Rui', 'scrypt');
  expect((await memberOf(accountId, other)).role).toBe('member');

  await change(accountId, ofRui, 'owner');
  const token = await inviteAgain();
  await change(accountId, ofRui, 'member', actorOf(ofAna));
  expect(await acceptInvitation(sql, token, 'Rui', 'scrypt')).toBeNull();
  expect((await memberOf(accountId, other)).role).toBe('member');
});

test.each(['removed', 'member'] as const)(
  'an owner who becomes %s makes no change that wants an owner, and their pending invitations end',
  async (end) => {
    const { accountId, ofAna, ofRui } = await twoMembers();
    const { email } = newPerson();
    await invite(sql, { accountId, email }, 'cli:op');
    const actor = actorOf(ofRui);
    const { token } = await invite(sql, { accountId, email: newPerson().email, role: 'owner' }, actor);
    await change(accountId, ofRui, end);
    expect(await findInvitation(sql, token)).toBeNull();
    // Another owner, so that no refusal is that of the last one.
    await createUser(sql, accountId, newPerson(), 'test');
    for (const made of [
      () => invite(sql, { accountId, email: newPerson().email }, actor),
      () => withdrawInvitation(sql, { accountId, email }, actor),
      () => change(accountId, ofAna, 'removed', actor),
      () => change(accountId, ofAna, 'member', actor),
      () => renameAccount(sql, accountId, 'Mine', actor),
      () => deleteAccount(sql, accountId, actor),
    ])
      expect(await made().catch((error) => error)).toBeInstanceOf(NotOwnerError);
    expect(await listInvitations(sql, accountId)).toMatchObject([{ email }]);
  },
);

test('an invitation that waits while its owner becomes a member is refused, on the page that owners alone have', async () => {
  const { ana, accountId, person, ofAna } = await twoMembers();
  const { email } = newPerson();
  // By the test's own pool, because the dashboard's waits for a lock for 0.2 s.
  const patient = spyOn(invitations, 'invite').mockImplementationOnce((_, ...given) => invite(sql, ...given));
  const lock = await lockRow(sql, accountId, 'accounts');
  const sending = ana.submit(MEMBERS, { email, present: person.password }, { form: INVITE });
  await waitingForLock(sql, 1);
  await sql`UPDATE dashboard_members SET role = 'member' WHERE user_id = ${ofAna.id}`;
  await lock.release();
  const answer = await sending;
  patient.mockRestore();
  expect([answer.status, answer.textOf('h1')]).toEqual([403, 'Only an owner can do this']);
  expect([await listInvitations(sql, accountId), mail.received(email)]).toEqual([[], 0]);
});

test('of an invitation and the removal of its author at the same time no invitation is left', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { accountId, ofRui } = await twoMembers();
    await Promise.allSettled([
      change(accountId, ofRui, 'removed'),
      invite(sql, { accountId, email: newPerson().email, role: 'owner' }, actorOf(ofRui)),
    ]);
    expect(await listInvitations(sql, accountId)).toEqual([]);
  }
});

test('the mail of an invitation names the inviter by address, says to a user of another account to sign in, and has no name of an account', async () => {
  const ana = await createMember(service, { name: 'http://evil.example' });
  const elsewhere = await createMember(service);
  const portuguese = await createMember(service, { language: 'pt-PT' });
  for (const [to, said] of [
    [newPerson().email, 'choose a password'],
    [elsewhere.email, 'Sign in to leave or delete that account'],
    [portuguese.email, 'Já inicia sessão com este endereço'],
  ] as const) {
    await inviteBy(ana, { email: to });
    const { text } = await mail.mailTo(to);
    expect(text).toContain(`${ana.email} invites you`);
    expect(text).toContain(said);
    expect(text).not.toContain('evil');
    if (to === portuguese.email) expect(text.indexOf('convida-o')).toBeLessThan(text.indexOf('invites you'));
  }
});

test('a suspended account invites nobody', async () => {
  const ana = await createMember(service);
  const { email } = newPerson();
  await setSuspended(sql, ana.accountId, true, 'test');
  await signIn(ana.visitor, ana);
  expect(await inviteBy(ana, { email })).toEqual([403, MESSAGES.en.suspendedRefusal]);
  await setSuspended(sql, ana.accountId, false, 'test');
  expect(await inviteBy(ana, { email })).toEqual([303, null]);
  expect((await mail.mailTo(email)).text).toContain('invites you');
  expect(mail.received(email)).toBe(0);
});

test('the invitations of other accounts use up no owner’s invitation to an address', async () => {
  const [ana, rui] = [await createMember(service), await createMember(service)];
  const { email } = newPerson();
  const again = async () => (await ana.visitor.submit(MEMBERS, {}, { form: '#pending form' })).status;
  expect(await inviteBy(ana, { email })).toEqual([303, null]);
  for (let sent = 1; sent < 5; sent += 1) expect(await again()).toBe(303);
  expect(await again()).toBe(429);
  expect(await inviteBy(rui, { email })).toEqual([303, null]);
  await until('six mails', () => mail.received(email) === 6);
});

test('an invitation is accepted during a suspension, and its reader sees the reason', async () => {
  const { accountId } = await createMember(service);
  const { id, secret } = await createKey(sql, accountId, 'prod', 'test');
  const { token } = await invite(sql, { accountId, email: newPerson().email }, 'cli:op');
  await setSuspended(sql, accountId, true, 'test', 'Invoice 17');
  const visitor = await acceptAs(service.baseUrl, token, 'Rui');
  expect((await visitor.get('/dashboard')).textOf('.notice.bad')).toContain('Invoice 17');
  expect(await usageStatus(service, secret)).toBe(401);
  expect((await visitor.get(`/dashboard/keys/${id}`)).status).toBe(200);
});
