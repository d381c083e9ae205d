/** Changes that a member can repeat leave a bounded number of rows in the account's ledger, which is kept. */
import { afterAll, expect, test } from 'bun:test';
import { removeExpired } from '../../src/dashboard/account-data/wings.ts';
import { loadHistory } from '../../src/metering/account-data/history.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import { startDashboardService } from './service.ts';
import { createMember, createVisitor, formTokenOf } from './visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

async function member() {
  const { visitor, ...person } = await createMember(service);
  const [user] = await service.sql`SELECT "id" FROM dashboard_users WHERE "email" = ${person.email}`;
  const { id } = await createKey(service.sql, person.accountId, 'production', 'test');
  /** The events of a kind in the ledger. */
  const events = async (kind: string) =>
    (await loadHistory(service.sql, person.accountId)).filter((event) => event.kind === kind).length;
  const made = (kind: string, changes: number) => service.sql`
    INSERT INTO dashboard_attempts VALUES (${`${kind} ${user!.id}`}, ${changes}, now() + interval '1 day')`;
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
