import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { scryptSync } from 'node:crypto';
import { invite } from '../../src/dashboard/account/invitations.ts';
import { removeExpired } from '../../src/dashboard/account-data/wings.ts';
import { startApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { OPEN, usedBy } from './service.ts';
import { createMember, createVisitor, formTokenOf, newPerson, signUp, type Visitor } from './visitor.ts';

const service = await startApi({ proxied: ['postgres'], env: OPEN });
const { sql, proxies, database } = service;
const proxy = proxies.postgres;
afterAll(() => service.stop());

const isBack = (visitor: Visitor) =>
  until('the dashboard', async () => (await visitor.get('/dashboard')).status === 200);

test('Postgres hung or away: pages and forms say so within seconds, and work again when it is back', async () => {
  const { visitor } = await createMember(service);
  const form_token = await formTokenOf(visitor, '/dashboard/keys');
  for (const take of [() => proxy.hang(), () => proxy.down()]) {
    take();
    const answers = await Promise.all([
      visitor.get('/dashboard'),
      visitor.post('/dashboard/keys', { name: 'x', form_token }),
    ]);
    for (const answer of answers) {
      expect([answer.status, answer.textOf('h1')]).toEqual([503, 'That did not work']);
      expect(answer.text).not.toContain(new URL(database.url).port);
    }
    // The process itself is well.
    expect((await fetch(`${service.baseUrl}/health/live`)).status).toBe(200);
    proxy.up();
    await isBack(visitor);
  }
});

test('Postgres away: a list and a query stay, with nothing charged, and are sent again by one press; a password does not', async () => {
  const { visitor, accountId } = await createMember(service);
  const tokenOf = (page: string) => formTokenOf(visitor, page);
  const forms = [
    [
      '/dashboard/screen',
      { list: '500002576\n500002568', price: '2', form_token: await tokenOf('/dashboard/screen') },
    ],
    ['/dashboard/try', { q: 'abaco', kind: 'search', form_token: await tokenOf('/dashboard/try') }],
  ] as const;
  const stranger = createVisitor(service.baseUrl);
  const signIn = { form_token: await formTokenOf(stranger), email: 'a@example.com', password: 'secret-4711' };
  proxy.down();
  const [secret, ...refused] = await Promise.all([
    stranger.post('/dashboard/sign-in', signIn),
    ...forms.map(([path, fields]) => visitor.post(path, fields)),
  ]).finally(proxy.up);
  expect([secret.status, secret.countOf('form')]).toEqual([503, 0]);
  expect(secret.text).not.toContain('secret-4711');
  const away = 'The data can’t be read at the moment. Nothing was charged. Try again in a moment.';
  for (const [index, page] of refused.entries()) {
    expect([page.status, page.textOf('.lead')]).toEqual([503, away]);
    const sent = [...page.document.querySelectorAll('#retry [name]')].map(
      (field) => [field.getAttribute('name'), field.getAttribute('value') ?? field.textContent] as const,
    );
    expect(Object.fromEntries(sent)).toEqual({ ...forms[index]![1] });
  }
  await isBack(visitor);
  for (const [path, fields] of forms)
    expect((await visitor.post(path, fields)).countOf('#answer-title')).toBe(1);
  expect(await usedBy(service, accountId)).toBe(3);
});

test('Postgres away: a link is not called dead, and works when Postgres is back', async () => {
  const { visitor, accountId } = await createMember(service);
  const { token } = await invite(sql, { accountId, email: newPerson().email }, 'test');
  const stranger = createVisitor(service.baseUrl);
  const form_token = await formTokenOf(stranger, `/dashboard/invitation?token=${token}`);
  const fields = { ...newPerson(), token, form_token };
  proxy.down();
  const early = await stranger.post('/dashboard/invitation', fields).finally(proxy.up);
  expect(early.status).toBe(503);
  await isBack(visitor);
  expect((await stranger.post('/dashboard/invitation', fields)).status).toBe(303);
});

describe('a process of its own', async () => {
  const instance = await service.spawnInstance();

  test('whose first visitor comes while Postgres is away serves the next one when it is back', async () => {
    const { visitor } = await createMember(service);
    const late = createVisitor(instance.baseUrl, { copied: visitor.cookies });
    proxy.down();
    const first = await late.get('/dashboard');
    const signIn = await createVisitor(instance.baseUrl).get('/dashboard/sign-in');
    proxy.up();
    expect([first.status, signIn.status]).toEqual([503, 200]);
    await isBack(late);
  });

  // The services that tests start in their own process have cheaper hashes (test/setup.ts).
  test('stores a password as scrypt with the full cost', async () => {
    const { email, password } = await signUp(createVisitor(instance.baseUrl));
    const [stored] = await sql<{ hash: string }[]>`
      SELECT c."password" AS hash FROM dashboard_credentials c JOIN dashboard_users u ON u."id" = c."userId"
      WHERE u."email" = ${email}`;
    const [salt, key] = stored!.hash.split(':');
    const cost = { N: 16_384, r: 16, p: 1, maxmem: 64 * 1024 * 1024 };
    expect(key).toBe(scryptSync(password, salt!, 64, cost).toString('hex'));
  });
});

test('a sign-up that fails in its middle leaves nothing behind, and can be repeated', async () => {
  const person = newPerson();
  await sql`ALTER TABLE dashboard_credentials ADD CONSTRAINT broken CHECK (false) NOT VALID`;
  const visitor = createVisitor(service.baseUrl);
  const printed = spyOn(console, 'error');
  expect((await visitor.submit('/dashboard/sign-up', { ...person })).status).toBe(503);
  expect(printed).not.toHaveBeenCalled();
  printed.mockRestore();
  expect(JSON.stringify(service.logLines)).not.toContain(person.email);
  expect((await sql`SELECT 1 FROM dashboard_users WHERE "email" = ${person.email}`).length).toBe(0);
  await sql`ALTER TABLE dashboard_credentials DROP CONSTRAINT broken`;
  expect((await visitor.submit('/dashboard/sign-up', { ...person })).status).toBe(303);
});

test('what has ended, and who never confirmed their email, is forgotten, and no other', async () => {
  const { visitor, email } = await createMember(service);
  await sql`UPDATE dashboard_users SET "createdAt" = now() - interval '1 year', "emailVerified" = false WHERE "email" = ${email}`;
  await sql`
    INSERT INTO dashboard_users ("id", "name", "email", "emailVerified", "createdAt")
    VALUES ('old', 'x', 'old@example.com', false, now() - interval '7.1 days'),
      ('young', 'x', 'young@example.com', false, now() - interval '6.9 days'),
      ('confirmed', 'x', 'confirmed@example.com', true, now() - interval '8 days')`;
  await sql`
    INSERT INTO dashboard_sessions ("id", "expiresAt", "token", "updatedAt", "userId")
    VALUES ('old', now() - interval '1 second', 'old', now(), 'young'), ('new', now() + interval '1 minute', 'new', now(), 'young')`;
  await sql`
    INSERT INTO dashboard_verifications ("id", "identifier", "value", "expiresAt")
    VALUES ('old', 'x', 'x', now() - interval '1 second'), ('new', 'x', 'x', now() + interval '1 minute')`;
  await sql`
    INSERT INTO dashboard_attempts (key, attempts, ends_at)
    VALUES ('old', 5, now() - interval '1 second'), ('new', 5, now() + interval '1 minute')`;
  await removeExpired(sql);
  const kept = await sql`
    SELECT 'user' AS of, "id" FROM dashboard_users WHERE "id" IN ('old', 'young', 'confirmed')
    UNION ALL SELECT 'session', "id" FROM dashboard_sessions WHERE "id" IN ('old', 'new')
    UNION ALL SELECT 'link', "id" FROM dashboard_verifications
    UNION ALL SELECT 'attempts', key FROM dashboard_attempts WHERE key IN ('old', 'new') ORDER BY 1, 2`;
  const rows = kept.map(({ of, id }) => `${of} ${id}`);
  expect(rows).toEqual(['attempts new', 'link new', 'session new', 'user confirmed', 'user young']);
  expect((await visitor.get('/dashboard')).status).toBe(200);
});
