import { afterAll, expect, test } from 'bun:test';
import { until } from '../../support/until.ts';
import { startDashboardService, storeCalls } from '../service.ts';
import { createMember, createMemberWithKey, formTokenOf, usageStatus } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const usage = (key: string) => usageStatus(service, key);
const withKey = (name?: string) => createMemberWithKey(service, name);

test('a rotation shows the new secret once; the previous one works on, and the page says until when', async () => {
  const { visitor, secret, id } = await withKey();
  expect((await visitor.get(`/dashboard/keys/${id}/rotate`)).textOf('h1')).toBe(
    'New secret for “production”',
  );
  const answer = await visitor.submit(`/dashboard/keys/${id}/rotate`, { overlap: '86400' });
  const rotated = answer.textOf('#new-secret')!;
  expect(rotated).toMatch(/^svc_[a-z2-7]{40}$/);
  expect(answer.textOf('.new-key')).toContain('The previous secret works until');
  expect([await usage(secret), await usage(rotated)]).toEqual([200, 200]);
  const page = await visitor.get('/dashboard/keys');
  expect(page.text).not.toContain(rotated);
  expect(page.textOf('.list th[scope=row]')).toContain('Old secret until');
  expect(page.textOf('[data-figure=quota]')).toBe('1 of 2 in use');
  const last = await visitor.submit(`/dashboard/keys/${id}/rotate`, { overlap: '0' });
  for (const old of [secret, rotated]) await until('the refusal', async () => (await usage(old)) === 401);
  expect(await usage(last.textOf('#new-secret')!)).toBe(200);
});

test('a rotation form that is sent twice rotates once, and both answers show the same secret', async () => {
  const { visitor, accountId, id } = await withKey();
  const path = `/dashboard/keys/${id}/rotate`;
  const form = { overlap: '86400', form_token: await formTokenOf(visitor, path) };
  const answers = await Promise.all([1, 2, 3].map(() => visitor.post(path, form)));
  expect(new Set(answers.map((answer) => answer.textOf('#new-secret'))).size).toBe(1);
  const events =
    await service.sql`SELECT 1 FROM account_events WHERE account_id = ${accountId} AND kind = 'key-rotated'`;
  expect(events).toHaveLength(1);
  await visitor.submit(path, { overlap: '86400' });
  const late = await visitor.post(path, form);
  expect([late.status, late.textOf('#new-secret')]).toEqual([409, null]);
});

test('a key gets a last day, which must not be over', async () => {
  const { visitor, accountId } = await createMember(service);
  for (const expires of ['2020-01-01', '2027-02-30', 'soon']) {
    expect((await visitor.submit('/dashboard/keys', { name: 'x', expires })).status).toBe(422);
  }
  await visitor.submit('/dashboard/keys', { name: 'x', expires: '2999-12-31' });
  const [key] = await service.sql`SELECT expires_at FROM api_keys WHERE account_id = ${accountId}`;
  expect(key!.expires_at).toEqual(new Date('3000-01-01T00:00:00Z'));
  expect((await visitor.get('/dashboard/keys')).textOf('.list th[scope=row]')).toContain(
    'Valid until 31 Dec 2999',
  );
});

test('a key is renamed; another account’s key and a bad name are refused', async () => {
  const { visitor, id } = await withKey();
  const answer = await visitor.submit(`/dashboard/keys/${id}/rename`, { name: '  staging ' });
  const saved = `/dashboard/keys/${id}?done=saved`;
  expect(answer.headers.get('location')).toBe(saved);
  expect((await visitor.get(saved)).textOf('.notice.good')).toBe('Saved.');
  expect((await visitor.get('/dashboard/keys')).textOf('.list th[scope=row]')).toBe('staging');
  expect((await visitor.submit(`/dashboard/keys/${id}/rename`, { name: 'a\u0007' })).status).toBe(422);
  const stranger = await withKey();
  for (const change of ['rename', 'rotate']) {
    expect((await stranger.visitor.get(`/dashboard/keys/${id}/${change}`)).status).toBe(404);
    const form_token = await formTokenOf(stranger.visitor, '/dashboard/keys');
    const form = { name: 'x', overlap: '0', form_token };
    expect((await stranger.visitor.post(`/dashboard/keys/${id}/${change}`, form)).status).toBe(404);
  }
});

test('a key that was not used for 90 days is marked', async () => {
  const { visitor, accountId, id } = await withKey();
  const row = async () => (await visitor.get('/dashboard/keys')).textOf('.list th[scope=row]');
  expect(await row()).toBe('production');
  await service.sql`UPDATE api_keys SET created_at = now() - interval '91 days' WHERE id = ${id}`;
  expect(await row()).toBe('production Not used for 90 days');
  await storeCalls(service.sql, accountId, [{ daysAgo: 80, keyId: id, kind: 'search', calls: 1 }]);
  expect(await row()).toBe('production Not used for 90 days');
  await service.sql`
    INSERT INTO api_key_uses SELECT secret_sha256, now() - interval '80 days' FROM api_keys WHERE id = ${id}`;
  expect(await row()).toBe('production');
});
