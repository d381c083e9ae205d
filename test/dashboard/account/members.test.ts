/** Members of an account: listed and removed, in the dashboard and by commands. */
import { afterAll, expect, test } from 'bun:test';
import {
  acceptInvitation,
  createUser,
  findInvitation,
  invite,
} from '../../../src/dashboard/account/invitations.ts';
import { changeMember, listMembers } from '../../../src/dashboard/auth/members.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor, newPerson, type Person, type Visitor } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const MEMBERS = '/dashboard/settings/members';

/** An account with two members, both signed in. */
async function twoMembers() {
  const { visitor: ana, accountId, ...person } = await createMember(service);
  const [rui, other] = [createVisitor(service.baseUrl), newPerson('Rui')];
  await createUser(service.sql, accountId, other, 'cli:operator');
  await rui.submit('/dashboard/sign-in', { ...other });
  return { accountId, ana, person, rui, other };
}

const idOf = async ({ email }: Person) =>
  (await service.sql`SELECT "id" FROM dashboard_users WHERE "email" = ${email}`)[0]!.id as string;
const statusOf = async (visitor: Visitor) => (await visitor.get('/dashboard')).status;
const kindsOf = async (accountId: string) =>
  (await loadHistory(service.sql, accountId)).map(({ kind }) => kind);

test('the list has every member with their name, since when, and their last sign-in', async () => {
  const { ana, person, other } = await twoMembers();
  await service.sql`
    UPDATE dashboard_users SET "createdAt" = '2026-03-01T09:30:00Z' WHERE "email" = ${other.email}`;
  await service.sql`
    UPDATE dashboard_members SET signed_in_at = '2026-04-02T10:45:00Z' WHERE user_id = ${await idOf(other)}`;
  const page = await ana.get(MEMBERS);
  const rows = [...page.document.querySelectorAll('tbody tr')].map((row) =>
    [...row.children].slice(0, 5).map((cell) => cell.textContent!.trim().replace(/\s+/g, ' ')),
  );
  expect(rows).toContainEqual([other.email, 'Rui', 'OwnerChange', '1 Mar 2026', '2 Apr 2026']);
  expect(rows.map(([email]) => email)).toContain(`${person.email} You`);
  expect(page.document.querySelectorAll('a[href$="/remove"]')).toHaveLength(2);
});

test('the only member can’t be removed: the list offers it not, and the form refuses it', async () => {
  const { visitor, ...person } = await createMember(service);
  expect((await visitor.get(MEMBERS)).document.querySelectorAll('a[href$="/remove"]')).toHaveLength(0);
  const answer = await visitor.submit(`${MEMBERS}/${await idOf(person)}/remove`, {
    present: person.password,
  });
  expect([answer.status, answer.textOf('[role=alert]')]).toEqual([
    409,
    'This is the last owner. Make another member an owner first, or delete the account.',
  ]);
  expect(await statusOf(visitor)).toBe(200);
});

test('a removed member’s session ends at once; they and their links don’t sign in again; others and keys stay', async () => {
  const { accountId, ana, person, rui, other } = await twoMembers();
  const { token } = await invite(service.sql, { accountId, email: other.email }, 'cli:operator');
  expect(await statusOf(rui)).toBe(200);
  const path = `${MEMBERS}/${await idOf(other)}/remove`;
  expect((await ana.get(path)).textOf('main strong')).toBe(other.email);
  const answer = await ana.submit(path, { present: person.password });
  expect([answer.status, answer.headers.get('location')]).toEqual([
    303,
    '/dashboard/settings/members?done=removed',
  ]);
  expect((await ana.get(`${MEMBERS}?done=removed`)).textOf('[role=status]')).toBe('The member is removed.');
  expect([await statusOf(rui), await statusOf(ana)]).toEqual([303, 200]);
  expect((await rui.submit('/dashboard/sign-in', { ...other })).status).toBe(401);
  expect(await findInvitation(service.sql, token)).toBeNull();
  expect((await listMembers(service.sql, accountId)).map(({ email }) => email)).toEqual([person.email]);
  expect(await kindsOf(accountId)).toEqual([
    'created',
    'member-invited',
    'member-added',
    'signed-in',
    'member-invited',
    'member-removed',
  ]);
  // Sent again, as a second click does.
  expect((await ana.get(path)).status).toBe(404);
});

test('a removal wants the password of the member who removes; a wrong one counts as a failed sign-in', async () => {
  const { ana, other, rui } = await twoMembers();
  const path = `${MEMBERS}/${await idOf(other)}/remove`;
  const wrong = await ana.submit(path, { present: 'not the password' });
  expect([wrong.status, wrong.textOf('#present-fault')]).toEqual([422, 'The current password is wrong.']);
  expect(await statusOf(rui)).toBe(200);
  expect(service.logLines).toContainEqual(
    expect.objectContaining({ msg: 'security', event: 'password check failed' }),
  );
});

test('a member of another account is as unknown as nobody', async () => {
  const [{ ana, person }, { other, rui }] = [await twoMembers(), await twoMembers()];
  const path = `${MEMBERS}/${await idOf(other)}/remove`;
  expect((await ana.get(path)).status).toBe(404);
  const { document } = await ana.get('/dashboard/settings/name');
  const formToken = document.querySelector('main [name=form_token]')!.getAttribute('value')!;
  const answer = await ana.post(path, { form_token: formToken, present: person.password });
  // Without the notice that a member is removed.
  expect([answer.status, answer.headers.get('location')]).toEqual([303, MEMBERS]);
  expect(await statusOf(rui)).toBe(200);
});

test('a member who removes themselves is signed out', async () => {
  const { accountId, person, rui, other } = await twoMembers();
  const answer = await rui.submit(`${MEMBERS}/${await idOf(other)}/remove`, { present: other.password });
  expect(answer.headers.get('location')).toBe('/dashboard/sign-in?done=left');
  expect(await statusOf(rui)).toBe(303);
  expect((await listMembers(service.sql, accountId)).map(({ email }) => email)).toEqual([person.email]);
});

test('of two members who remove each other at the same time one stays, also with an acceptance and a sign-in', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { accountId, person, other } = await twoMembers();
    const [first, second] = [await idOf(person), await idOf(other)];
    const { token } = await invite(service.sql, { accountId, email: other.email }, 'test');
    const [one, two] = await Promise.all([
      changeMember(service.sql, accountId, ({ id }) => id === first, 'removed', 'test'),
      changeMember(service.sql, accountId, ({ id }) => id === second, 'removed', 'test'),
      acceptInvitation(service.sql, token, 'Rui', 'scrypt'),
      createVisitor(service.baseUrl).submit('/dashboard/sign-in', { ...other }),
    ]);
    expect((await listMembers(service.sql, accountId)).length).toBe(1);
    expect([one, two].filter((outcome) => outcome === 'last')).toHaveLength(1);
  }
});

test('an account has at most a hundred members and pending invitations, however many are invited at once', async () => {
  const { accountId, other } = await twoMembers();
  const inviteAs = (email: string) => invite(service.sql, { accountId, email }, 'cli:operator');
  const email = (index: number) => `${index}-${accountId}@example.com`.toLowerCase();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 105 }, (_, index) => inviteAs(email(index))),
  );
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(98);
  await expect(inviteAs('new@example.com')).rejects.toThrow('100 members and pending invitations');
  // New passwords for members, and an invitation in place of another one, take no further place.
  for (const member of await listMembers(service.sql, accountId)) await inviteAs(member.email);
  await expect(inviteAs('new@example.com')).rejects.toThrow('100 members and pending invitations');
  const [pending] = await service.sql<{ email: string }[]>`
    SELECT email FROM dashboard_invitations WHERE account_id = ${accountId} ORDER BY email LIMIT 1`;
  await service.sql`DELETE FROM dashboard_invitations WHERE account_id = ${accountId} AND email = ${other.email}`;
  await inviteAs(pending!.email);
});
