import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { setSuspended } from '../../src/accounts/changes.ts';
import { createAccount } from '../../src/accounts/store.ts';
import { invite } from '../../src/dashboard/auth/invitations.ts';
import { removeExpired } from '../../src/dashboard/auth/remove-expired.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startMailedDashboard } from './service.ts';
import type { MailServer } from './smtp.ts';
import { createVisitor, linkTo, type Person, signUpByMail, type Visitor } from './visitor.ts';

const NEW = 'another long password';

let mail: MailServer;
let service: TestService;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ mail, service, stop } = await startMailedDashboard());
});
afterAll(() => stop());

const visit = () => createVisitor(service.baseUrl);
const statusOf = async (visitor: Visitor) => (await visitor.get('/dashboard')).status;
const sessionsOf = ({ email }: Person) => service.sql`
  SELECT s."id" FROM dashboard_sessions s JOIN dashboard_users u ON u."id" = s."userId" WHERE u."email" = ${email}`;

test('a session ends after 30 days, however often it is used', async () => {
  const visitor = visit();
  const person = await signUpByMail(visitor, mail);
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

test('suspending an account ends the sessions of its members, and no others', async () => {
  const [visitor, other] = [visit(), visit()];
  const { accountId } = await signUpByMail(visitor, mail);
  await signUpByMail(other, mail);
  await setSuspended(service.sql, accountId, true, 'test');
  expect(await statusOf(visitor)).toBe(303);
  expect(await statusOf(other)).toBe(200);
});

describe('a sign-in with the old password while a reset runs', () => {
  async function startReset(person: Person): Promise<() => Promise<number>> {
    await visit().submit('/dashboard/forgot', { email: person.email });
    const link = await linkTo(mail, person.email);
    return async () => (await visit().submit(link, { password: NEW })).status;
  }

  test('opens no session when the reset ends between its check and its session', async () => {
    const person = await signUpByMail(visit(), mail);
    const reset = await startReset(person);
    const late = visit();
    await pausing('BEFORE INSERT', async (reached, go) => {
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
    const person = await signUpByMail(visit(), mail);
    const reset = await startReset(person);
    const between = visit();
    await pausing('AFTER DELETE', async (reached, go) => {
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
    const person = await signUpByMail(visit(), mail);
    const { token } = await invite(service.sql, { accountId: person.accountId, email: person.email }, 'test');
    const late = visit();
    const invited = visit();
    await pausing('BEFORE INSERT', async (reached, go) => {
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

/**
 * Holds every statement that writes a session at the given point.
 * @param during told how to wait until one is held, and how to let all go on
 */
async function pausing(
  point: 'BEFORE INSERT' | 'AFTER DELETE',
  during: (reached: () => Promise<void>, go: () => Promise<void>) => Promise<void>,
) {
  const { sql } = service;
  const LOCK = 4711;
  // Longer than the service waits for other locks.
  await sql.unsafe(`
    CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = '10s' AS
    $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${LOCK}); RETURN NEW; END $$;
    CREATE TRIGGER pause ${point} ON dashboard_sessions FOR EACH ROW EXECUTE FUNCTION pause()`);
  const holder = await sql.reserve();
  await holder`SELECT pg_advisory_lock(${LOCK})`;
  let isHeld = true;
  const go = async () => {
    if (isHeld) await holder`SELECT pg_advisory_unlock(${LOCK})`;
    isHeld = false;
  };
  const reached = () =>
    until(
      'the pause',
      async () =>
        (
          await sql`
            SELECT 1 FROM pg_locks
            WHERE locktype = 'advisory' AND objid = ${LOCK} AND NOT granted
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
        ).length > 0,
      5000,
    );
  try {
    await during(reached, go);
  } finally {
    await go();
    holder.release();
    await sql.unsafe('DROP TRIGGER pause ON dashboard_sessions; DROP FUNCTION pause()');
  }
}

test('an account without members can be suspended', async () => {
  const { id } = await createAccount(service.sql, { name: 'Nobody Lda', plan: 'free' }, 'test');
  await setSuspended(service.sql, id, true, 'test');
});
