import { afterAll, describe, expect, test } from 'bun:test';
import { invite } from '../../../src/dashboard/account/invitations.ts';
import { removeExpired } from '../../../src/dashboard/account-data/wings.ts';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { until } from '../../support/until.ts';
import { codeOf, fieldsOf } from '../enrolled.ts';
import { pausing } from '../pausing.ts';
import { startMailedDashboard } from '../service.ts';
import { createMember, createVisitor, formTokenOf, linkTo, type Person, type Visitor } from '../visitor.ts';

const NEW = 'another long password';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

const visit = () => createVisitor(service.baseUrl);
const statusOf = async (visitor: Visitor) => (await visitor.get('/dashboard')).status;
const sessionsOf = ({ email }: Person) => service.sql`
  SELECT s."id" FROM dashboard_sessions s JOIN dashboard_users u ON u."id" = s."userId" WHERE u."email" = ${email}`;

test('a session ends after 30 days, however often it is used', async () => {
  const { visitor, ...person } = await createMember(service);
  const begin = (days: number) => service.sql`
    UPDATE dashboard_sessions SET "createdAt" = now() - ${days} * interval '1 day', "expiresAt" = now() + interval '5 days'
    WHERE "userId" = (SELECT "id" FROM dashboard_users WHERE "email" = ${person.email})`;
  await begin(29.9);
  expect(await statusOf(visitor)).toBe(200);
  await removeExpired(service.sql);
  expect((await sessionsOf(person)).length).toBe(1);
  await begin(30);
  expect(await statusOf(visitor)).toBe(303);
  await removeExpired(service.sql);
  expect((await sessionsOf(person)).length).toBe(0);
});

test('a user has fifty sessions at most: a further sign-in ends the oldest', async () => {
  const [first, visitor] = [visit(), visit()];
  const person = await createMember(service, { visitor: first });
  const [user] = await service.sql`SELECT "id" FROM dashboard_users WHERE "email" = ${person.email}`;
  await service.sql`
    INSERT INTO dashboard_sessions ("id", "expiresAt", "token", "createdAt", "updatedAt", "userId")
    SELECT ${user!.id} || n, now() + interval '1 day', ${user!.id} || n, now() + n * interval '1 ms', now(), ${user!.id}
    FROM generate_series(1, 49) n`;
  expect([await statusOf(first), (await sessionsOf(person)).length]).toEqual([200, 50]);
  expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(303);
  expect([await statusOf(first), await statusOf(visitor)]).toEqual([303, 200]);
  expect((await sessionsOf(person)).length).toBe(50);
});

test('suspending an account ends the sessions of its members, and no others', async () => {
  const [visitor, other] = [visit(), visit()];
  const { accountId } = await createMember(service, { visitor });
  await createMember(service, { visitor: other });
  await setSuspended(service.sql, accountId, true, 'test');
  expect(await statusOf(visitor)).toBe(303);
  expect(await statusOf(other)).toBe(200);
});

test('pages to which a session leads that a suspension has ended say the reason, after a link and after a form', async () => {
  const visitor = visit();
  const { accountId } = await createMember(service, { visitor });
  const form_token = await formTokenOf(visitor, '/dashboard/settings/name');
  await setSuspended(service.sql, accountId, true, 'test', 'Invoice 17 is overdue');
  const form = await visitor.post('/dashboard/settings/name', { form_token, name: 'Other' });
  const signIn = await visitor.get((await visitor.get('/dashboard')).headers.get('location')!);
  expect([form.status, signIn.status]).toEqual([403, 200]);
  for (const page of [form, signIn])
    expect(page.textOf('.notice.bad')).toContain('Reason: Invoice 17 is overdue');
});

describe('a sign-in with the old password while a reset runs', () => {
  async function startReset(person: Person): Promise<() => Promise<number>> {
    await visit().submit('/dashboard/forgot', { email: person.email });
    const link = await linkTo(mail, person.email);
    return async () => (await visit().submit(link, { password: NEW })).status;
  }

  test('opens no session when the reset ends between its check and its session', async () => {
    const person = await createMember(service);
    const reset = await startReset(person);
    const late = visit();
    await pausing(service.sql, 'BEFORE INSERT', async (reached, go) => {
      const signIn = late.submit('/dashboard/sign-in', { ...person });
      await reached();
      expect(await reset()).toBe(303);
      await go();
      expect((await signIn).status).toBe(401);
    });
    expect(await statusOf(late)).toBe(303);
    expect((await sessionsOf(person)).length).toBe(0);
  });

  test('keeps no session when it falls between the end of the sessions and the new password', async () => {
    const person = await createMember(service);
    const reset = await startReset(person);
    const between = visit();
    await pausing(service.sql, 'AFTER DELETE', async (reached, go) => {
      const done = reset();
      await reached();
      expect((await between.submit('/dashboard/sign-in', { ...person })).status).toBe(303);
      expect(await statusOf(between)).toBe(200);
      await go();
      expect(await done).toBe(303);
    });
    expect(await statusOf(between)).toBe(303);
    expect((await sessionsOf(person)).length).toBe(0);
  });

  test('opens no session when an invitation sets the password in between', async () => {
    const person = await createMember(service);
    const { token } = await invite(service.sql, { accountId: person.accountId, email: person.email }, 'test');
    const late = visit();
    const invited = visit();
    await pausing(service.sql, 'BEFORE INSERT', async (reached, go) => {
      const signIn = late.submit('/dashboard/sign-in', { ...person });
      await reached();
      // Its own sign-in waits as well.
      const taken = invited.submit(`/dashboard/invitation?token=${token}`, { name: 'x', password: NEW });
      await until('the invitation', async () => (await sessionsOf(person)).length === 0);
      await go();
      expect((await signIn).status).toBe(401);
      expect((await taken).status).toBe(303);
    });
    expect(await statusOf(late)).toBe(303);
    expect(await statusOf(invited)).toBe(200);
  });
});

test('a sign-in without a code keeps no session when the second factor is turned on between its check and its session', async () => {
  const { visitor, ...person } = await createMember(service);
  const page = '/dashboard/settings/second-factor';
  const setUp = await visitor.submit(`${page}/set-up`, { present: person.password });
  const code = codeOf(setUp.textOf('#secret')!);
  const late = visit();
  await pausing(service.sql, 'BEFORE INSERT', async (reached, go) => {
    const signIn = late.submit('/dashboard/sign-in', { ...person });
    await reached();
    // The session that replaces the present one waits as well.
    const turnedOn = visitor.post(`${page}/confirm`, { ...fieldsOf(setUp), code });
    await until('the second factor', async () => (await sessionsOf(person)).length === 0);
    await go();
    expect((await signIn).status).toBe(401);
    expect((await turnedOn).headers.get('location')).toBe(`${page}?done=on`);
  });
  expect([await statusOf(late), await statusOf(visitor)]).toEqual([303, 200]);
  expect((await sessionsOf(person)).length).toBe(1);
});

test('an account without members can be suspended', async () => {
  const { id } = await createAccount(service.sql, { name: 'Nobody Lda', plan: 'free' }, 'test');
  await setSuspended(service.sql, id, true, 'test');
});
