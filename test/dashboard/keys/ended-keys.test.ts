/** Keys that end, or have ended: the dashboard says so, and offers a remedy. */
import { afterAll, expect, test } from 'bun:test';
import { ROUTES } from '../../../src/dashboard/routes.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { storeErrorCounts } from '../../support/counts.ts';
import { eventually, until } from '../../support/until.ts';
import { startDashboardService } from '../service.ts';
import { createMemberWithKey, formTokenOf, usageStatus } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const DAY_MS = 86_400_000;
const usage = (key: string) => usageStatus(service, key);

async function withKey(name = 'production') {
  const { visitor, accountId, secret, id } = await createMemberWithKey(service, name);
  const expire = (at: Date) => service.sql`UPDATE api_keys SET expires_at = ${at} WHERE id = ${id}`;
  const notice = async (language = 'en') =>
    (await visitor.get('/dashboard', { 'Accept-Language': language })).textOf(`[data-key=${id}]`);
  return { visitor, accountId, secret, id, expire, notice };
}

/** Writes calls of today that were refused with 401, as the pipeline counts them. */
const refuse = (accountId: string, keyId: string, calls: number) =>
  storeErrorCounts(
    service.sql,
    service.sql`VALUES (${accountId}, (now() AT TIME ZONE 'UTC')::date, ${keyId}, '401', ${calls})`,
  );

/** As if a program had used the key a day ago. */
const use = (id: string) => service.sql`
  INSERT INTO api_key_uses SELECT secret_sha256, now() - interval '1 day' FROM api_keys WHERE id = ${id}`;

test('several keys that end soon share a notice', async () => {
  const { visitor, accountId, id } = await createMemberWithKey(service, 'first');
  const other = await createKey(service.sql, accountId, 'second', 'test');
  for (const key of [id, other.id]) {
    await service.sql`UPDATE api_keys SET expires_at = now() + interval '3 days' WHERE id = ${key}`;
    await use(key);
  }
  expect((await visitor.get('/dashboard/credits')).textOf('.notices > div.warn')).toBe(
    '2 keys that are in use end within 7 days. See the keys',
  );
});

test('a key that ends within 7 days has a notice on every page, and one that has expired if programs still use it; a revoked one has none', async () => {
  const { visitor, accountId, id, expire, notice } = await withKey();
  expect(await notice()).toBeNull();
  await expire(new Date(Date.now() + 8 * DAY_MS));
  expect(await notice()).toBeNull();
  const midnight = new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS);
  await expire(midnight);
  // A key that no program uses ends without a word.
  expect(await notice()).toBeNull();
  await use(id);
  const month = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' });
  const today = new Date();
  const day = `${today.getUTCDate()} ${month.format(today)} ${today.getUTCFullYear()}`;
  expect(await notice()).toBe(
    `The key “production” works until ${day}. Until then nothing changes. Change the last day if programs still use it. See the key`,
  );
  expect(await notice('pt')).toStartWith('A chave “production” é válida até');
  await expire(new Date(Date.now() - 60_000));
  expect(await notice()).toBeNull();
  await refuse(accountId, id, 412);
  expect(await notice()).toMatch(
    /^The key “production” expired: .*\. Refused requests since yesterday: 412\. See the key$/,
  );
  await service.sql`UPDATE api_keys SET expires_at = NULL, revoked_at = now() WHERE id = ${id}`;
  expect(await notice()).toBeNull();
  const list = await visitor.get('/dashboard/keys');
  expect([list.textOf('details.card summary'), list.textOf('.empty')]).toEqual([
    'Revoked and expired keys (1)',
    null,
  ]);
});

test('an expired key shows since when, offers a new last day in place of a new secret, and works again with it', async () => {
  const { visitor, accountId, secret, id, expire } = await withKey();
  await expire(new Date(Date.now() - 1000));
  await until('the refusal', async () => (await usage(secret)) === 401);
  const page = await visitor.get(`/dashboard/keys/${id}`);
  expect(page.textOf('.heading .badge.bad')).toMatch(/^Expired \d+ \w+ \d{4}, \d\d:\d\d$/);
  const actions = [...page.document.querySelectorAll('main > .actions a')].map((link) => link.textContent);
  expect(actions).toEqual(['Change the last day', 'Rename']);
  const refused = await visitor.submit(`/dashboard/keys/${id}/rotate`, { overlap: '0' });
  expect([refused.status, refused.textOf('[role=alert]')]).toEqual([
    409,
    'The key has expired, so it gets no new secret. Change the last day first.',
  ]);

  const expiry = `/dashboard/keys/${id}/expiry`;
  expect((await visitor.submit(expiry, { expires: '2020-01-01' })).textOf('.fault')).toBe(
    'The last day must be today or later.',
  );
  const others = [1, 2].map(() => createKey(service.sql, accountId, 'other', 'test'));
  await Promise.all(others);
  const full = await visitor.submit(expiry, { expires: '2999-12-31' });
  expect([full.status, full.textOf('[role=alert]')]).toEqual([409, expect.stringContaining('The 2 keys')]);
  const { id: other } = await others[0]!;
  await visitor.submit(`/dashboard/keys/${other}/revoke`, {});
  expect((await visitor.submit(expiry, { expires: '2999-12-31' })).status).toBe(303);
  await until('the key works', async () => (await usage(secret)) === 200);
  await visitor.submit(expiry, { expires: '' });
  const [key] = await service.sql`SELECT expires_at FROM api_keys WHERE id = ${id}`;
  expect(key!.expires_at).toBeNull();
});

test('a revoked key says since when and by whom, and allows no change', async () => {
  const { visitor, id } = await withKey();
  await visitor.submit(`/dashboard/keys/${id}/revoke`, {});
  const page = await visitor.get(`/dashboard/keys/${id}`);
  expect(page.textOf('.heading .badge.bad')).toStartWith('Revoked ');
  expect(page.textOf('main dl')).toEndWith('Revoked byYou');
  expect(page.document.querySelectorAll('main > .actions a').length).toBe(0);
  // In another tab its forms may still be open: each leads to the page that says that it is revoked.
  const changes = Object.keys(ROUTES).filter((path) => path.startsWith('/keys/:id/'));
  const own = { form_token: await formTokenOf(visitor, '/dashboard/keys'), name: 'x', overlap: '0' };
  expect(changes.length).toBeGreaterThan(5);
  for (const change of changes.map((path) => `/dashboard${path.replace(':id', id)}`))
    for (const answer of [await visitor.get(change), await visitor.post(change, own)])
      expect([change, answer.headers.get('location')]).toEqual([change, `/dashboard/keys/${id}`]);
  const stranger = await withKey();
  expect((await stranger.visitor.get(`/dashboard/keys/${id}`)).status).toBe(404);
  const form_token = await formTokenOf(stranger.visitor, '/dashboard/keys');
  for (const change of ['expiry', 'end-secret'])
    expect((await stranger.visitor.post(`/dashboard/keys/${id}/${change}`, { form_token })).status).toBe(404);
});

test('calls with a key that has ended are counted by key, and the page of the key has its use', async () => {
  const { visitor, secret, id } = await withKey();
  for (const query of ['a', 'b']) {
    await fetch(`${service.url}/companies?q=${query}`, { headers: { Authorization: `Bearer ${secret}` } });
  }
  const counts = async () =>
    [...(await visitor.get(`/dashboard/keys/${id}`)).document.querySelectorAll('.legend li')].map(
      (kind) => kind.textContent,
    );
  expect(await counts()).toEqual(['Searches 2']);
  await visitor.submit(`/dashboard/keys/${id}/revoke`, {});
  await until('the refusal', async () => (await usage(secret)) === 401);
  await eventually(counts, ['Searches 2', 'Key or secret had ended (401) 1']);
});

test('the page of a key tells whether the old secret is still used, and ends it now', async () => {
  const { visitor, secret, id } = await withKey();
  await visitor.submit(`/dashboard/keys/${id}/rotate`, { overlap: '86400' });
  const old = async () => (await visitor.get(`/dashboard/keys/${id}`)).textOf('[data-old-secret]');
  expect(await old()).toBe('The old secret was not used for 24 hours.');
  await service.sql`
    INSERT INTO api_key_uses SELECT secret_sha256, now() FROM api_key_previous_secrets WHERE key_id = ${id}`;
  expect(await old()).toStartWith('The old secret was used in the last 24 hours.');
  expect((await visitor.submit(`/dashboard/keys/${id}/end-secret`, {})).status).toBe(303);
  await until('the refusal', async () => (await usage(secret)) === 401);
  expect(await old()).toBeNull();
  const history = await visitor.get('/dashboard/settings/history');
  expect(history.textOf('.list')).toContain('Old secret ended');
});
