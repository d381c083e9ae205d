/** The changes of a key: its secret, last day and name, its budget and rights, as its pages show and make them. */
import { afterAll, expect, test } from 'bun:test';
import { RIGHT_GROUPS, RIGHTS } from '../../../src/http/right.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { storeErrorCounts } from '../../support/counts.ts';
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

const limitsOf = async (id: string) => {
  const [row] = await service.sql`
    SELECT rights AS only, credits, per, requests_per_minute AS share FROM api_keys LEFT JOIN key_budgets ON key_id = id WHERE id = ${id}`;
  return { ...row };
};

test('a new key gets the budget and the rights of its form, and the pages show them', async () => {
  const { visitor, accountId } = await createMember(service);
  const fields = {
    name: 'colleague',
    credits: '50',
    per: 'day',
    'only-lookup': 'yes',
    'only-search': 'yes',
    'per-minute': '7',
  };
  const page = await visitor.submit('/dashboard/keys', fields);
  const address = page.document.querySelector('.new-key a[href$="/rotate"]')!.getAttribute('href')!;
  const id = address.split('/')[3]!;
  expect(await limitsOf(id)).toEqual({ only: ['search', 'lookup'], credits: 50, per: 'day', share: 7 });
  expect(page.textOf('.keys tbody tr')).toContain('50 of 50 left today');
  await service.sql`UPDATE key_budgets SET used = 12, window_start = budget_window(per, now()) WHERE key_id = ${id}`;
  const card = (await visitor.get(`/dashboard/keys/${id}`)).textOf('[aria-labelledby=limits-title]');
  expect(card).toMatch(
    /^Limits and permissions Credits used today: 12 of 50 .+ Of the account’s requests a minute it takes 7 at most. It may only: Search Look up companies$/,
  );

  const form = `/dashboard/keys/${id}/limits`;
  const shown = await visitor.get(form);
  expect(
    [...shown.document.querySelectorAll('[type=checkbox][checked]')].map((box) => box.getAttribute('name')),
  ).toEqual(['group-companies', 'only-search']);
  // Every right is no bound, so that it includes those that come later.
  const all = Object.fromEntries(Object.keys(RIGHT_GROUPS).map((group) => [`group-${group}`, 'yes']));
  await visitor.submit(form, { ...all, credits: '80', per: 'month', 'per-minute': '' });
  expect(await limitsOf(id)).toEqual({ only: null, credits: 80, per: 'month', share: null });
  // A group is stored as its single rights, so that a later right of it joins no key.
  await visitor.submit(form, { credits: '', 'group-debts': 'yes', 'only-usage': 'yes' });
  expect(await limitsOf(id)).toMatchObject({
    only: expect.arrayContaining([...RIGHT_GROUPS.debts, 'usage']),
    credits: null,
  });
  expect((await limitsOf(id)).only).toHaveLength(RIGHT_GROUPS.debts.length + 1);
  expect((await loadHistory(service.sql, accountId)).map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['key-limited']),
  );
});

test('each right is in one group, and a first key is a name and a button: the rest is folded', async () => {
  expect(Object.values(RIGHT_GROUPS).flat().sort()).toEqual([...RIGHTS].sort());
  const { visitor } = await createMember(service);
  const page = await visitor.get('/dashboard/keys');
  const form = page.document.querySelector('.create form')!;
  const open = [...form.querySelectorAll('label')].filter((label) => label.closest('details') === null);
  expect(open.map((label) => label.textContent)).toEqual(['Name']);
  expect(form.querySelectorAll('details[open]')).toHaveLength(0);
  expect(page.textOf('.create form summary')).toBe('Limit this key');
});

test.each(['-1', '1.5', 'ten', '1000000001', '1e3'])(
  'a budget of %s is a fault at its field, and creates no key',
  async (credits) => {
    const { visitor } = await createMember(service);
    const page = await visitor.submit('/dashboard/keys', { name: 'a', credits, 'only-debts': 'yes' });
    expect([page.status, page.textOf('#credits-fault')]).toEqual([
      422,
      'Write a whole number from 0 to 1,000,000,000.',
    ]);
    expect(page.document.querySelector('[name=only-debts]')!.hasAttribute('checked')).toBe(true);
    // What is folded is open where there is a fault, or something that was chosen.
    expect(page.document.querySelectorAll('.create details:not([open])')).toHaveLength(0);
    expect((await visitor.get('/dashboard/keys')).text).toContain('No keys yet');
  },
);

test.each(['0', '-1', '1.5', '10000001'])('a share of %s is a fault at its field', async (share) => {
  const { visitor, id } = await createMemberWithKey(service, 'shared');
  const page = await visitor.submit(`/dashboard/keys/${id}/limits`, { 'per-minute': share });
  expect([page.status, page.textOf('#per-minute-fault')]).toEqual([
    422,
    'Write a whole number from 1 to 10,000,000.',
  ]);
  expect((await limitsOf(id)).share).toBeNull();
});

test('a test key has rights and a share, and no budget', async () => {
  const { visitor } = await createMember(service);
  await visitor.submit('/dashboard/keys', {}, { form: '.create form:last-of-type' });
  const [key] = await service.sql`SELECT id FROM api_keys WHERE is_test ORDER BY created_at DESC LIMIT 1`;
  const form = `/dashboard/keys/${key!.id}/limits`;
  expect((await visitor.get(form)).document.querySelector('[name=credits]')).toBeNull();
  await visitor.submit(form, { 'only-usage': 'yes', credits: '5', 'per-minute': '9' });
  expect(await limitsOf(key!.id)).toEqual({ only: ['usage'], credits: null, per: 'ever', share: 9 });
});

test('the list has the credits and the refusals of 7 days, and no key that was charged was “never” used', async () => {
  const { visitor, accountId, id } = await createMemberWithKey(service, 'busy');
  const cells = async () =>
    [...(await visitor.get('/dashboard/keys')).document.querySelectorAll('.keys tbody tr > *')]
      .slice(2, 5)
      .map((cell) => cell.textContent!.trim());
  expect(await cells()).toEqual(['Never', '0', '0']);
  await storeCalls(service.sql, accountId, [
    { daysAgo: 0, keyId: id, kind: 'search', calls: 4 },
    { daysAgo: 6, keyId: id, kind: 'lookup', calls: 3 },
    { daysAgo: 7, keyId: id, kind: 'lookup', calls: 100 },
  ]);
  await storeErrorCounts(
    service.sql,
    service.sql`
      SELECT ${accountId}::text, (now() AT TIME ZONE 'UTC')::date - 6, ${id}::text, kind, 5
      FROM unnest('{rate-limit-exceeded,401,4xx,5xx}'::text[]) AS kind`,
  );
  expect(await cells()).toEqual(['A moment ago', '7', '10']);
  // The page of the key says the same of the key and of its one secret.
  const page = await visitor.get(`/dashboard/keys/${id}`);
  expect(page.text.match(/A moment ago/g)).toHaveLength(2);
  expect(page.textOf('main')).not.toContain('Never');
});
