/** Wrong codes of the second factor lock it, for longer each time, and right ones that meet are all taken. */
import { afterAll, expect, test } from 'bun:test';
import { enrolled } from '../enrolled.ts';
import { startMailedDashboard } from '../service.ts';
import { createVisitor, type Person, type Visitor } from '../visitor.ts';

const { service, mail, stop } = await startMailedDashboard();
afterAll(stop);

const giveCode = (visitor: Visitor, code: string) => visitor.submit('/dashboard/sign-in/code', { code });

async function waitingFor(person: Person): Promise<Visitor> {
  const visitor = createVisitor(service.baseUrl);
  await visitor.submit('/dashboard/sign-in', { ...person });
  return visitor;
}

/** Ten wrong codes in a row. @returns the seconds of the lock */
async function lock(person: Person): Promise<number> {
  for (const _ of [1, 2]) {
    const visitor = await waitingFor(person);
    for (let guess = 0; guess < 5; guess += 1) await giveCode(visitor, `AAAAA-0000${guess}`);
  }
  const refused = await giveCode(await waitingFor(person), 'AAAAA-00000');
  expect(refused.status).toBe(429);
  return Number(refused.headers.get('retry-after'));
}

test('each lock is twice as long as the one before, up to a day, until a right code; its user has a mail for each', async () => {
  const { person, codes } = await enrolled(service);
  await mail.mailTo(person.email); // it was turned on
  const factor = (change: object) => service.sql`
    UPDATE dashboard_second_factors SET ${service.sql({ ...change })}
    WHERE "userId" = (SELECT "id" FROM dashboard_users WHERE "email" = ${person.email})`;
  for (const seconds of [900, 1800, 3600]) {
    const lockedS = await lock(person);
    expect(lockedS).toBeGreaterThan(seconds - 60);
    expect(lockedS).toBeLessThanOrEqual(seconds);
    expect((await mail.mailTo(person.email)).text).toContain('Ten wrong codes at your sign-in');
    expect(mail.received(person.email)).toBe(0);
    await factor({ lockedUntil: new Date(Date.now() - 1000) });
    await service.sql`DELETE FROM dashboard_attempts`;
  }
  await factor({ locks: 20 });
  expect(await lock(person)).toBeLessThanOrEqual(86_400);
  await factor({ lockedUntil: new Date(Date.now() - 1000) });
  await service.sql`DELETE FROM dashboard_attempts`;
  expect((await giveCode(await waitingFor(person), codes[0]!)).status).toBe(303);
  expect(await lock(person)).toBeLessThanOrEqual(900);
});

test('a wrong code that was checked while a lock began does not shorten it', async () => {
  const { person } = await enrolled(service);
  const [user] = await service.sql`SELECT "id" FROM dashboard_users WHERE "email" = ${person.email}`;
  const lockAgain = () => service.sql`
    UPDATE dashboard_second_factors SET "lockedUntil" = now() + interval '15 minutes' WHERE "userId" = ${user!.id}`;
  await service.sql`UPDATE dashboard_second_factors SET locks = 3 WHERE "userId" = ${user!.id}`;
  await lockAgain();
  await lockAgain();
  const [row] = await service.sql`
    SELECT locks, "lockedUntil" > now() + interval '119 minutes' AS "isLong" FROM dashboard_second_factors WHERE "userId" = ${user!.id}`;
  expect(row).toMatchObject({ locks: 4, isLong: true });
});

test('of different backup codes that are given at once one signs in, and the other sign-in begins again or does, too', async () => {
  const { person, codes } = await enrolled(service);
  for (const [one, two] of [codes.slice(0, 2), codes.slice(2, 4), codes.slice(4, 6)]) {
    const visitors = await Promise.all([waitingFor(person), waitingFor(person)]);
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
    UPDATE dashboard_second_factors SET "failedVerificationCount" = 9
    WHERE "userId" = (SELECT "id" FROM dashboard_users WHERE "email" = ${person.email})`;
  const visitors = await Promise.all([1, 2, 3, 4].map(() => waitingFor(person)));
  await Promise.all(visitors.map((visitor, index) => giveCode(visitor, `AAAAA-0000${index}`)));
  expect((await mail.mailTo(person.email)).text).toContain('Ten wrong codes');
  await Bun.sleep(300);
  expect(mail.received(person.email)).toBe(0);
});
