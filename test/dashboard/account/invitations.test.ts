/** Invitations end with their ground, and make no member more than they say (docs/members.md: members). */
import { afterAll, expect, test } from 'bun:test';
import {
  acceptInvitation,
  createUser,
  findInvitation,
  invite,
  listInvitations,
  withdrawInvitation,
} from '../../../src/dashboard/account/invitations.ts';
import { deleteAccount } from '../../../src/dashboard/account-data/wings.ts';
import { actorOf, changeMember, listMembers, renameAccount } from '../../../src/dashboard/auth/members.ts';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { NotOwnerError } from '../../../src/metering/accounts/rights.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { lockRow, waitingForLock } from '../../support/locks.ts';
import { until } from '../../support/until.ts';
import { startMailedDashboard } from '../service.ts';
import {
  acceptAs,
  createMember,
  createVisitor,
  linkTo,
  newPerson,
  type Person,
  usageStatus,
} from '../visitor.ts';

const MEMBERS = '/dashboard/settings/members';
const INVITE = 'main section form';
const { service, mail, stop } = await startMailedDashboard();
const { sql } = service;
afterAll(() => stop());

const memberOf = async (accountId: string, { email }: Pick<Person, 'email'>) =>
  (await listMembers(sql, accountId)).find((member) => member.email === email)!;

/** An owner who is signed in, and another one. */
async function twoOwners() {
  const { visitor, accountId, ...ana } = await createMember(service);
  const rui = newPerson('Rui');
  await createUser(sql, accountId, rui, 'test');
  return { visitor, accountId, ana, rui, ofRui: await memberOf(accountId, rui) };
}

test('a change of an address ends the invitations to the previous one, of every account', async () => {
  const [own, other] = [await createMember(service), await createMember(service)];
  const tokens = await Promise.all(
    [own, other].map(
      async ({ accountId }) => (await invite(sql, { accountId, email: own.email }, 'cli:op')).token,
    ),
  );
  const email = newPerson().email;
  await own.visitor.submit('/dashboard/settings/email', { email, present: own.password });
  await own.visitor.submit(await linkTo(mail, email), {}, { form: 'main form' });
  expect((await memberOf(own.accountId, { email })).role).toBe('owner');
  for (const token of tokens) expect(await findInvitation(sql, token)).toBeNull();
});

test('an invitation without a role keeps the role that its reader has, and ends if that changes', async () => {
  const { accountId, ana, rui, ofRui } = await twoOwners();
  await changeMember(sql, accountId, ({ id }) => id === ofRui.id, 'member', 'test');
  const reset = await invite(sql, { accountId, email: rui.email }, 'cli:op');
  expect(await listInvitations(sql, accountId)).toMatchObject([{ role: 'member' }]);
  await acceptInvitation(sql, reset.token, 'Rui', 'scrypt');
  expect((await memberOf(accountId, rui)).role).toBe('member');

  await changeMember(sql, accountId, ({ id }) => id === ofRui.id, 'owner', 'test');
  const { token } = await invite(sql, { accountId, email: rui.email }, 'cli:op');
  await changeMember(
    sql,
    accountId,
    ({ id }) => id === ofRui.id,
    'member',
    actorOf(await memberOf(accountId, ana)),
  );
  expect(await acceptInvitation(sql, token, 'Rui', 'scrypt')).toBeNull();
  expect((await memberOf(accountId, rui)).role).toBe('member');
});

test('the pending invitations of an owner who becomes a member end', async () => {
  const { accountId, ofRui } = await twoOwners();
  const { token } = await invite(sql, { accountId, email: newPerson().email, role: 'owner' }, actorOf(ofRui));
  await changeMember(sql, accountId, ({ id }) => id === ofRui.id, 'member', 'test');
  expect(await findInvitation(sql, token)).toBeNull();
});

test('an owner who was removed or is an owner no more makes no change that wants an owner', async () => {
  for (const end of ['removed', 'member'] as const) {
    const { accountId, ana, ofRui } = await twoOwners();
    const ofAna = await memberOf(accountId, ana);
    const { email } = newPerson();
    await invite(sql, { accountId, email }, 'cli:op');
    if (end === 'removed') await changeMember(sql, accountId, ({ id }) => id === ofRui.id, 'removed', 'test');
    else await changeMember(sql, accountId, ({ id }) => id === ofRui.id, 'member', 'test');
    const actor = actorOf(ofRui);
    const changes = [
      () => invite(sql, { accountId, email: newPerson().email }, actor),
      () => withdrawInvitation(sql, { accountId, email }, actor),
      () => changeMember(sql, accountId, ({ id }) => id === ofAna.id, 'removed', actor),
      () => changeMember(sql, accountId, ({ id }) => id === ofAna.id, 'member', actor),
      () => renameAccount(sql, accountId, 'Mine', actor),
      () => deleteAccount(sql, accountId, actor),
    ];
    if (end === 'member') await changeMember(sql, accountId, ({ id }) => id === ofAna.id, 'owner', 'test');
    // Another owner, so that no refusal is that of the last one.
    await createUser(sql, accountId, newPerson(), 'test');
    for (const change of changes)
      expect(await change().catch((error) => error)).toBeInstanceOf(NotOwnerError);
    expect(await listInvitations(sql, accountId)).toMatchObject([{ email }]);
  }
});

test('an invitation that waits while its owner becomes a member is refused, on the page that owners alone have', async () => {
  const { visitor, accountId, ana } = await twoOwners();
  const ofAna = await memberOf(accountId, ana);
  const { email } = newPerson();
  const lock = await lockRow(sql, accountId, 'accounts');
  const sending = visitor.submit(MEMBERS, { email, present: ana.password }, { form: INVITE });
  await waitingForLock(sql, 1);
  await sql`UPDATE dashboard_members SET role = 'member' WHERE user_id = ${ofAna.id}`;
  await lock.release();
  const answer = await sending;
  expect([answer.status, answer.textOf('h1')]).toEqual([403, 'Only an owner can do this']);
  expect([await listInvitations(sql, accountId), mail.received(email)]).toEqual([[], 0]);
});

test('of an invitation and the removal of its author at the same time no invitation is left', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { accountId, ofRui } = await twoOwners();
    await Promise.allSettled([
      changeMember(sql, accountId, ({ id }) => id === ofRui.id, 'removed', 'test'),
      invite(sql, { accountId, email: newPerson().email, role: 'owner' }, actorOf(ofRui)),
    ]);
    expect(await listInvitations(sql, accountId)).toEqual([]);
  }
});

test('its mail names the inviter by address, says to a user of another account to sign in, and has no name of an account', async () => {
  const [ana, elsewhere] = [
    await createMember(service, { name: 'http://evil.example' }),
    await createMember(service),
  ];
  const portuguese = await createMember(service, { language: 'pt-PT' });
  const { email } = newPerson();
  for (const [to, said] of [
    [email, 'choose a password'],
    [elsewhere.email, 'Sign in to leave or delete that account'],
    [portuguese.email, 'Já inicia sessão com este endereço'],
  ] as const) {
    await ana.visitor.submit(MEMBERS, { email: to, present: ana.password }, { form: INVITE });
    const { text } = await mail.mailTo(to);
    expect(text).toContain(`${ana.email} invites you`);
    expect(text).toContain(said);
    expect(text).not.toContain('evil');
    if (to === portuguese.email) expect(text.indexOf('convida-o')).toBeLessThan(text.indexOf('invites you'));
  }
});

test('neither a suspended account nor an owner with an unconfirmed address invites', async () => {
  const ana = await createMember(service);
  const { email } = newPerson();
  const tried = async () => {
    const answer = await ana.visitor.submit(MEMBERS, { email, present: ana.password }, { form: INVITE });
    return [answer.status, answer.textOf('[role=alert]')];
  };
  await sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${ana.email}`;
  expect(await tried()).toEqual([403, 'Confirm your email first.']);
  await sql`UPDATE dashboard_users SET "emailVerified" = true WHERE "email" = ${ana.email}`;
  await setSuspended(sql, ana.accountId, true, 'test');
  await ana.visitor.submit('/dashboard/sign-in', { ...ana });
  expect(await tried()).toEqual([403, 'A suspended account invites nobody.']);
  await setSuspended(sql, ana.accountId, false, 'test');
  expect(await tried()).toEqual([303, null]);
  expect((await mail.mailTo(email)).text).toContain('invites you');
  expect(mail.received(email)).toBe(0);
});

test('the invitations of other accounts use up no owner’s invitation to an address', async () => {
  const [ana, rui] = [await createMember(service), await createMember(service)];
  const { email } = newPerson();
  const inviteBy = async ({ visitor, password }: typeof ana) => {
    const answer = await visitor.submit(MEMBERS, { email, present: password }, { form: INVITE });
    return answer.status;
  };
  const again = async () => (await ana.visitor.submit(MEMBERS, {}, { form: '#pending form' })).status;
  expect(await inviteBy(ana)).toBe(303);
  for (let sent = 1; sent < 5; sent += 1) expect(await again()).toBe(303);
  expect(await again()).toBe(429);
  expect(await inviteBy(rui)).toBe(303);
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

test('a used or bad link leads to a new one', async () => {
  const visitor = createVisitor(service.baseUrl);
  const token = 'x'.repeat(32);
  const bad = (path: string) => visitor.get(`/dashboard/${path}`);
  for (const [path, way] of [
    [`reset?token=${'x'.repeat(24)}`, 'a[href="/dashboard/forgot"]'],
    ['confirm?token=a.b.c', 'form[action="/dashboard/sign-up/again"] #email'],
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
  const person = newPerson();
  await visitor.submit('/dashboard/sign-up', { ...person });
  await mail.mailTo(person.email);
  await visitor.submit('/dashboard/confirm?token=a.b.c', { email: person.email });
  expect(await linkTo(mail, person.email)).toStartWith('/dashboard/confirm?token=');
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
  const { token } = await invite(sql, { accountId, email: person.email }, 'cli:op');
  await visitor.submit(`/dashboard/invitation?token=${token}`, { password: third });
  await told();
  expect(mail.received(person.email)).toBe(0);
});
