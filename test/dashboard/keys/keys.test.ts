/** The keys of an account: their list and places, their secret, last day and name, budget and rights, and those that end or have ended. */
import { afterAll, expect, test } from 'bun:test';
import { ROUTES } from '../../../src/dashboard/routes.ts';
import { formatsOf } from '../../../src/dashboard/ui/language.ts';
import { RIGHT_GROUPS, RIGHTS } from '../../../src/http/right.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { changePlan } from '../../../src/metering/accounts/changes.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { call } from '../../support/client.ts';
import { eventually, until } from '../../support/until.ts';
import { startDashboardService, storeCalls } from '../service.ts';
import {
  createMember,
  createMemberWithKey,
  formTokenOf,
  makeKey,
  type PageAnswer,
  usageStatus,
} from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const usage = (key: string) => usageStatus(service, key);
async function withKey() {
  const member = await createMemberWithKey(service);
  // A wait for the refusal of a key takes many requests, and those beyond a minute's are counted.
  await service.sql`UPDATE accounts SET requests_per_minute = 6000 WHERE id = ${member.accountId}`;
  return member;
}

test('a key works at once; its secret is on one page only, and in no log', async () => {
  const { visitor } = await createMember(service);
  const created = await visitor.submit('/dashboard/keys', { name: 'production' });
  const secret = created.textOf('#new-secret')!;
  expect(secret).toMatch(/^svc_[a-z2-7]{40}$/);
  expect(created.headers.get('cache-control')).toBe('private, no-store');
  expect(await usage(secret)).toBe(200);

  for (const page of ['', '/keys', '/try', '/credits', '/settings', '/usage.csv'])
    expect((await visitor.get(`/dashboard${page}`)).text).not.toContain(secret);
  expect(JSON.stringify(service.logLines)).not.toContain(secret);
});

test('the second button creates a test key, also when the plan has no room, and the list marks it', async () => {
  const { visitor } = await createMember(service);
  await makeKey(visitor, 'one');
  await makeKey(visitor, 'two');
  expect((await visitor.get('/dashboard/keys')).textsOf('main form button')).toEqual(['Create test key']);
  const created = await visitor.submit('/dashboard/keys', {});
  const secret = created.textOf('#new-secret')!;
  expect(secret).toMatch(/^svc_test_[a-z2-7]{40}$/);
  const page = await visitor.get('/dashboard/keys');
  expect(page.textOf('.list tbody tr .badge')).toBe('Test key');
  expect(page.textOf('[data-figure=quota]')).toStartWith('2 ');
  const { status, headers } = await call(service.url, '/usage', { key: secret });
  expect([status, headers.get('x-test-key')]).toEqual([200, 'true']);
  for (let count = 1; count < 5; count += 1) await visitor.submit('/dashboard/keys', {});
  const refused = await visitor.submit('/dashboard/keys', {});
  expect(refused.refusal()).toBe('409 All 5 test keys are in use: revoke one.');
});

test('the lines of a new key work as they stand, and connect an agent', async () => {
  const { visitor } = await createMember(service);
  const page = await visitor.submit('/dashboard/keys', { name: 'shell' });
  expect(page.textOf('#agent-address')).toBe(`${service.baseUrl}/mcp`);
  expect(page.textOf('#agent-command')).toContain(`${service.baseUrl}/mcp`);
  const lines = ['#new-export', '#sample-new-curl'].map((id) => page.document.querySelector(id)!.textContent);
  const shell = Bun.spawn(['sh', '-c', lines.join('\n')], { stdout: 'pipe' });
  expect(await new Response(shell.stdout).json()).toEqual({ data: [], error: null });
});

test('a key is listed with its name, its first characters, when it was made and when it was last used', async () => {
  const { visitor, secret, id } = await createMemberWithKey(service, 'nightly');
  const read = async (path: string, place: string) =>
    (await visitor.get(`/dashboard/keys${path}`)).textOf(place);
  const row = () => read('', '.list tbody tr');
  expect(await row()).toBe(`nightly ${secret.slice(0, 10)}… Never 0 0 –`);
  // A call that costs nothing is a use, also of a secret that a rotation has replaced.
  await service.sql`
    INSERT INTO api_key_previous_secrets SELECT 'old', ${id}, now() + interval '1 day' FROM api_keys WHERE id = ${id}`;
  await service.sql`INSERT INTO api_key_uses VALUES ('old', '2026-03-05 10:21Z')`;
  const used = '5 Mar 2026, 10:21';
  expect(await row()).toContain(`… ${used} 0 0 –`);
  expect(await read(`/${id}`, 'main dl')).toContain(`Created${formatsOf('en').date(new Date())}`);
  expect(await read(`/${id}`, 'main dl')).toEndWith(`Last used${used}`);
  expect(await read(`/${id}/revoke`, '.sheet')).toContain(`Last used: ${used}`);
});

test('the Free quota of 2 is shown and enforced, also for a form that was open before', async () => {
  const { visitor } = await createMember(service);
  await makeKey(visitor, 'first');
  expect(await visitor.textAt('/dashboard/keys', '[data-figure=quota]')).toBe('1 of 2 in use');
  const form_token = await formTokenOf(visitor, '/dashboard/keys');
  await makeKey(visitor, 'second');
  const refused = await visitor.post('/dashboard/keys', { name: 'third', form_token });
  expect([refused.status, refused.textOf('#new-secret')]).toEqual([409, null]);
  expect(refused.textOf('[role=alert]')).toContain('The 2 keys of the plan are in use.');
  const page = await visitor.get('/dashboard/keys');
  expect(page.textOf('[data-figure=quota]')).toBe('2 of 2 in use');
  expect(page.countOf('form[action$="/keys"] input[name=name][type=text]')).toBe(0);
  const portuguese = await visitor.get('/dashboard/keys', { 'Accept-Language': 'pt' });
  expect(portuguese.textOf('.create')).toContain('As 2 chaves do plano estão em uso.');
});

/** Stores keys that were created before all others, the first one last; active ones two days ago. */
const storeKeys = (accountId: string, count: number, state: 'active' | 'revoked') => service.sql`
  INSERT INTO api_keys (id, account_id, name, start, secret_sha256, created_at, revoked_at)
  SELECT 'key_' || ${accountId} || ${state} || n, ${accountId}, 'stored ' || n, 'svc_', sha256(gen_random_uuid()::text::bytea),
    now() - CASE WHEN ${state === 'revoked'} THEN interval '1 hour' ELSE interval '2 days' END - n * interval '1 second',
    CASE WHEN ${state === 'revoked'} THEN now() END
  FROM generate_series(1, ${count}::integer) AS n`;

test('Plus has room for 10,000 keys, of which pages list a hundred, and for 1,000 new ones of a day; of those that ended the latest are listed', async () => {
  const { visitor, accountId } = await createMember(service);
  await changePlan(service.sql, accountId, 'plus', {}, 'test');
  await makeKey(visitor, 'newest');
  await storeKeys(accountId, 9_998, 'active');
  await storeKeys(accountId, 998, 'revoked');
  const first = await visitor.get('/dashboard/keys');
  expect(first.textOf('[data-figure=quota]')).toBe('9,999 of 10,000 in use');
  const names = ({ textsOf }: PageAnswer) => textsOf('.card.list tbody th');
  expect(names(first)).toEqual(['newest', ...Array.from({ length: 99 }, (_, n) => `stored ${n + 1}`)]);
  expect(first.textsOf('.contents a')).toEqual(['Older']);
  expect(first.textOf('main details.card summary')).toBe('Revoked and expired keys (50)');
  expect(first.countOf('main details tbody tr')).toBe(50);
  expect(first.textOf('main details.card .hint')).toBe('Those that ended earlier are not listed.');
  const second = await visitor.get(first.linksOf('.contents a')[0]!);
  expect(names(second)).toEqual(Array.from({ length: 100 }, (_, n) => `stored ${n + 100}`));
  expect(second.textOf('.contents a')).toBe('Latest');
  expect(second.linksOf('.contents a')[0]).toBe('/dashboard/keys?q=&state=all');
  await makeKey(visitor, 'last');
  const full = await visitor.get('/dashboard/keys', { 'Accept-Language': 'pt' });
  expect(full.textOf('.create')).toContain('As 10 000 chaves estão em uso: revogue uma.');
  expect(full.textOf('main details.card .hint')).toBe('As que terminaram antes não aparecem.');
  const [key] = await service.sql`SELECT id FROM api_keys WHERE account_id = ${accountId} AND name = 'last'`;
  expect((await visitor.submit(`/dashboard/keys/${key!.id}/revoke`, {})).status).toBe(303);
  const refused = await visitor.submit('/dashboard/keys', { name: 'one more' });
  expect(refused.refusal()).toBe(
    '409 An account of this plan can create 1,000 keys in 24 hours, and has created them. Try again later.',
  );
});

test('a key is revoked after a question, by whom is in the ledger, and its place is free again', async () => {
  const { visitor, accountId, secret, id } = await createMemberWithKey(service, 'leaked');
  const question = await visitor.get(`/dashboard/keys/${id}/revoke`);
  expect(question.textOf('main h1')).toBe('Revoke “leaked”?');
  expect(await usage(secret)).toBe(200);
  const answer = await visitor.submit(`/dashboard/keys/${id}/revoke`, {});
  expect(answer.headers.get('location')).toBe('/dashboard/keys?done=revoked');
  await until('the refusal', async () => (await usage(secret)) === 401);

  const [event] = await service.sql`
    SELECT actor, detail FROM account_events WHERE account_id = ${accountId} AND kind = 'key-revoked'`;
  const [member] = await service.sql`SELECT user_id FROM dashboard_members WHERE account_id = ${accountId}`;
  expect(event).toEqual({ actor: `dashboard:${member!.user_id}`, detail: { key: id } });
  const page = await visitor.get('/dashboard/keys?done=revoked');
  expect(page.textOf('[role=status]')).toBe('The key is revoked.');
  expect(page.textOf('[data-figure=quota]')).toBe('0 of 2 in use');
  expect(page.textOf('main details.card summary')).toBe('Revoked and expired keys (1)');
});

test('keys are found by a part of their name, the beginning of their secret, and their state', async () => {
  const { visitor, accountId } = await createMember(service);
  await changePlan(service.sql, accountId, 'plus', {}, 'test');
  const secrets: Record<string, string> = {};
  for (const name of ['Loja web', 'loja app', 'idle', 'ending', 'ended', 'x%y', 'rest', 'more'])
    secrets[name] = (await createKey(service.sql, accountId, name, 'test')).secret;
  const { sql } = service;
  const of = (name: string) => sql`account_id = ${accountId} AND name = ${name}`;
  await sql`UPDATE api_keys SET created_at = now() - interval '91 days' WHERE ${of('idle')}`;
  await sql`UPDATE api_keys SET expires_at = now() + interval '6 days' WHERE ${of('ending')}`;
  await sql`UPDATE api_keys SET revoked_at = now() WHERE ${of('ended')}`;
  const found = async (query: string) =>
    (await visitor.get(`/dashboard/keys?${query}`)).textsOf('.keys th a').sort();
  expect(await found('')).toHaveLength(8);
  expect(await found('q=LOJA')).toEqual(['Loja web', 'loja app']);
  expect(await found(`q=${secrets.rest!.slice(0, 10)}`)).toEqual(['rest']);
  expect(await found('q=%25')).toEqual(['x%y']);
  for (const state of ['idle', 'ending', 'ended']) expect(await found(`state=${state}`)).toEqual([state]);
  expect(await found('state=idle&q=loja')).toEqual([]);
  const none = await visitor.get('/dashboard/keys?state=idle&q=loja');
  expect([none.textOf('.empty'), none.valueOf('option[selected]')]).toEqual(['No key matches.', 'idle']);
});

test('the keys stand before the form of a new one; a form that was refused, or typed before a sign-in, stands before them', async () => {
  const { visitor } = await createMember(service);
  await makeKey(visitor);
  const order = ({ countOf }: PageAnswer) =>
    ['.list ~ .create', '.create ~ .list'].map((order) => countOf(`main > .card${order}`));
  const page = await visitor.get('/dashboard/keys');
  expect(order(page)).toEqual([1, 0]);
  expect(page.textOf('.heading a[href="#create-title"]')).toBe('Create key');
  expect(order(await visitor.submit('/dashboard/keys', { name: ' ' }))).toEqual([0, 1]);
  const typed = await visitor.get('/dashboard/keys?name=production');
  expect(order(typed)).toEqual([0, 1]);
  // The other language keeps what was typed.
  expect(typed.linksOf('[hreflang=pt]')).toEqual(['?lang=pt&name=production']);
});

test('a rotation shows the new secret once; the previous one works on, and the page says until when', async () => {
  const { visitor, secret, id } = await withKey();
  expect(await visitor.textAt(`/dashboard/keys/${id}/rotate`, 'h1')).toBe('New secret for “production”');
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
  expect(last.textOf('.new-key')).toContain('The previous secret stops working within 5 seconds.');
  for (const old of [secret, rotated]) await until('the refusal', async () => (await usage(old)) === 401);
  expect(await usage(last.textOf('#new-secret')!)).toBe(200);
});

test('a rotation form that is sent twice rotates once, and both answers show the same secret', async () => {
  const { visitor, accountId, id } = await withKey();
  const path = `/dashboard/keys/${id}/rotate`;
  const form = { overlap: '86400', form_token: await formTokenOf(visitor, path) };
  const answers = await Promise.all([1, 2, 3].map(() => visitor.post(path, form)));
  expect(new Set(answers.map((answer) => answer.textOf('#new-secret'))).size).toBe(1);
  const kinds = (await loadHistory(service.sql, accountId)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'key-rotated')).toHaveLength(1);
  await visitor.submit(path, { overlap: '86400' });
  const late = await visitor.post(path, form);
  expect([late.status, late.textOf('#new-secret')]).toEqual([409, null]);
});

test('a key gets a last day, which must not be over', async () => {
  const { visitor, accountId } = await createMember(service);
  for (const expires of ['2020-01-01', '2027-02-30', 'soon'])
    expect((await visitor.submit('/dashboard/keys', { name: 'x', expires })).status).toBe(422);
  await visitor.submit('/dashboard/keys', { name: 'x', expires: '2999-12-31' });
  const [key] = await service.sql`SELECT expires_at FROM api_keys WHERE account_id = ${accountId}`;
  expect(key!.expires_at).toEqual(new Date('3000-01-01T00:00:00Z'));
  expect(await visitor.textAt('/dashboard/keys', '.list th[scope=row]')).toContain('Valid until 31 Dec 2999');
});

test('one form changes a key, and writes each change', async () => {
  const { visitor, accountId, id } = await withKey();
  const changes = { name: '  staging ', expires: '2999-12-31', credits: '5' };
  const answer = await visitor.submit(`/dashboard/keys/${id}/change`, changes);
  const kinds = (await loadHistory(service.sql, accountId)).map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['key-renamed', 'key-expiry-changed', 'key-limited']));
  const saved = `/dashboard/keys/${id}?done=saved`;
  expect(answer.headers.get('location')).toBe(saved);
  expect(await visitor.textAt(saved, '.notice.good')).toBe('Saved.');
  expect(await visitor.textAt('/dashboard/keys', '.list tbody tr')).toMatch(
    /^staging Valid until 31 Dec 2999 .* 5 of 5 left today$/,
  );
  // An expired key keeps its end, which is no end of a day.
  const [ended] =
    await service.sql`UPDATE api_keys SET expires_at = now() - interval '2 days' WHERE id = ${id} RETURNING expires_at`;
  expect((await visitor.submit(`/dashboard/keys/${id}/change`, { name: 'old' })).status).toBe(303);
  const [row] = await service.sql`SELECT name, expires_at FROM api_keys WHERE id = ${id}`;
  expect({ ...row }).toEqual({ name: 'old', ...ended });
});

test('a key that was not used for 90 days is marked', async () => {
  const { visitor, accountId, id } = await withKey();
  const row = () => visitor.textAt('/dashboard/keys', '.list th[scope=row]');
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
  const page = await visitor.submit('/dashboard/keys', {
    ...{ name: 'colleague', credits: '50', per: 'day', 'per-minute': '7' },
    ...{ 'only-lookup': 'yes', 'only-search': 'yes' },
  });
  const id = page.linksOf('.new-key a[href$="/rotate"]')[0]!.split('/')[3]!;
  expect(await limitsOf(id)).toEqual({ only: ['search', 'lookup'], credits: 50, per: 'day', share: 7 });
  expect(page.textOf('.keys tbody tr')).toContain('50 of 50 left today');
  await service.sql`UPDATE key_budgets SET used = 12, window_start = budget_window(per, now()) WHERE key_id = ${id}`;
  expect(await visitor.textAt(`/dashboard/keys/${id}`, 'main dl')).toMatch(
    /Credit limit38 of 50 left today\. It is renewed on .+ UTC\.Requests a minute7PermissionsSearch Look up companies$/,
  );

  const form = `/dashboard/keys/${id}/change`;
  const shown = await visitor.get(form);
  const ticked = shown.attributesOf('[type=checkbox][checked]', 'name');
  expect(ticked).toEqual(['group-companies', 'only-search']);
  // Every right is no bound, so that it includes those that come later.
  const all = Object.fromEntries(Object.keys(RIGHT_GROUPS).map((group) => [`group-${group}`, 'yes']));
  await visitor.submit(form, { ...all, credits: '80', per: 'month', 'per-minute': '' });
  expect(await limitsOf(id)).toEqual({ only: null, credits: 80, per: 'month', share: null });
  // A group is stored as its single rights, so that a later right of it joins no key.
  await visitor.submit(form, { credits: '', 'group-debts': 'yes', 'only-usage': 'yes' });
  const { only, credits } = await limitsOf(id);
  expect([only.toSorted(), credits]).toEqual([[...RIGHT_GROUPS.debts, 'usage'].sort(), null]);
  const kinds = (await loadHistory(service.sql, accountId)).map(({ kind }) => kind);
  expect(kinds).toContain('key-limited');
});

test('each right is in one group, and a first key is a name and a button: the rest is folded', async () => {
  expect(Object.values(RIGHT_GROUPS).flat().sort()).toEqual([...RIGHTS].sort());
  const { visitor } = await createMember(service);
  const page = await visitor.get('/dashboard/keys');
  const form = '.create form:has(#name)';
  expect(page.textsOf(`${form} label:not(details label)`)).toEqual(['Name']);
  expect(page.textOf(`${form} summary`)).toBe('Limit this key');
  expect(page.countOf(`${form} details[open]`)).toBe(0);
});

test.each([
  ['credits', ['-1', '1.5', 'ten', '1000000001', '1e3'], '0 to 1,000,000,000'],
  ['per-minute', ['0', '-1', '1.5', '10000001'], '1 to 10,000,000'],
])(
  '%s that are no bound are a fault at their field, and nothing is changed or created',
  async (name, bad, range) => {
    const { visitor, accountId, id } = await withKey();
    for (const path of ['/dashboard/keys', `/dashboard/keys/${id}/change`])
      for (const text of bad) {
        const page = await visitor.submit(path, { name: 'a', [name]: text, 'only-debts': 'yes' });
        const fault = `Write a whole number from ${range}.`;
        expect([path, text, page.status, page.textOf(`#${name}-fault`)]).toEqual([path, text, 422, fault]);
        expect(page.countOf('[name=only-debts][checked]')).toBe(1);
        // A folded part is open if it has a fault or a choice.
        expect(page.countOf('.create details:not([open])')).toBe(0);
      }
    const keys = await service.sql`SELECT id, name FROM api_keys WHERE account_id = ${accountId}`;
    expect([...keys]).toEqual([{ id, name: 'production' }]);
    expect(await limitsOf(id)).toMatchObject({ only: null, credits: null, share: null });
  },
);

test('a test key has rights and a share, and no budget', async () => {
  const { visitor } = await createMember(service);
  await visitor.submit('/dashboard/keys', {}, { form: '.create form:last-of-type' });
  const [key] = await service.sql`SELECT id FROM api_keys WHERE is_test ORDER BY created_at DESC LIMIT 1`;
  const form = `/dashboard/keys/${key!.id}/change`;
  expect((await visitor.get(form)).countOf('[name=credits]')).toBe(0);
  await visitor.submit(form, { 'only-usage': 'yes', credits: '5', 'per-minute': '9' });
  expect(await limitsOf(key!.id)).toEqual({ only: ['usage'], credits: null, per: 'ever', share: 9 });
});

test('the list has the credits and the refusals of 7 days, and no key that was charged was “never” used', async () => {
  const { visitor, accountId, id } = await withKey();
  const cells = async () => (await visitor.get('/dashboard/keys')).cellsOf('.keys tbody tr')[0]!.slice(2, 5);
  expect(await cells()).toEqual(['Never', '0', '0']);
  await storeCalls(service.sql, accountId, [
    { daysAgo: 0, keyId: id, kind: 'search', calls: 4 },
    { daysAgo: 6, keyId: id, kind: 'lookup', calls: 3 },
    { daysAgo: 7, keyId: id, kind: 'lookup', calls: 100 },
  ]);
  for (const kind of ['rate-limit-exceeded', '401', '4xx', '5xx'] as const)
    await storeCalls(service.sql, accountId, [{ daysAgo: 6, keyId: id, kind, calls: 5 }]);
  expect(await cells()).toEqual(['Recently', '7', '10']);
  // The page of the key says the same.
  const page = await visitor.get(`/dashboard/keys/${id}`);
  expect(page.textOf('main dl')).toEndWith('Last usedRecently');
  expect(page.textOf('main')).not.toContain('Never');
});

const DAY_MS = 86_400_000;

const expire = (id: string, at: Date) => service.sql`UPDATE api_keys SET expires_at = ${at} WHERE id = ${id}`;

/** As if a program had used the key a day ago. */
const use = (id: string) => service.sql`
  INSERT INTO api_key_uses SELECT secret_sha256, now() - interval '1 day' FROM api_keys WHERE id = ${id}`;

test('several keys that end soon share a notice', async () => {
  const { visitor, accountId, id } = await withKey();
  const other = await createKey(service.sql, accountId, 'second', 'test');
  await service.sql`UPDATE api_keys SET expires_at = now() + interval '3 days' WHERE account_id = ${accountId}`;
  for (const key of [id, other.id]) await use(key);
  expect(await visitor.textAt('/dashboard/credits', '.notices > div.warn')).toBe(
    '2 keys that are in use end within 7 days. See the keys',
  );
});

test('a key that ends within 7 days has a notice on every page, and one that has expired if programs still use it; a revoked one has none', async () => {
  const { visitor, accountId, id } = await withKey();
  const notice = async (language = 'en') =>
    (await visitor.get('/dashboard', { 'Accept-Language': language })).textOf(`[data-notice=${id}]`);
  expect(await notice()).toBeNull();
  await expire(id, new Date(Date.now() + 8 * DAY_MS));
  expect(await notice()).toBeNull();
  const midnight = new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS);
  await expire(id, midnight);
  // A key that no program uses ends without a word.
  expect(await notice()).toBeNull();
  await use(id);
  const day = formatsOf('en').date(new Date());
  expect(await notice()).toBe(
    `The key “production” works until ${day}. Until then nothing changes. Change the last day if programs still use it. See the key`,
  );
  expect(await notice('pt')).toStartWith('A chave “production” é válida até');
  await expire(id, new Date(Date.now() - 60_000));
  expect(await notice()).toBeNull();
  await storeCalls(service.sql, accountId, [{ keyId: id, kind: '401', calls: 412 }]);
  expect(await notice()).toMatch(
    /^The key “production” expired: .*\. Refused requests since yesterday: 412\. See the key$/,
  );
  await service.sql`UPDATE api_keys SET expires_at = NULL, revoked_at = now() WHERE id = ${id}`;
  expect(await notice()).toBeNull();
  const list = await visitor.get('/dashboard/keys');
  expect(list.textOf('details.card summary')).toBe('Revoked and expired keys (1)');
  expect(list.textOf('.empty')).toBeNull();
});

test('an expired key shows since when, leaves its place, offers a new last day in place of a new secret, and works again with it', async () => {
  const { visitor, accountId, secret, id } = await withKey();
  await expire(id, new Date(Date.now() - 1000));
  await until('the refusal', async () => (await usage(secret)) === 401);
  const list = await visitor.get('/dashboard/keys');
  expect([list.textOf('[data-figure=quota]'), list.countOf('.card.list')]).toEqual(['0 of 2 in use', 0]);
  expect(list.textOf('main details tbody th')).toMatch(/^production Expired \d+ \w+ \d{4}, \d\d:\d\d$/);
  const page = await visitor.get(`/dashboard/keys/${id}`);
  expect(page.textOf('.heading .badge.bad')).toMatch(/^Expired \d+ \w+ \d{4}, \d\d:\d\d$/);
  expect(page.textsOf('main > .actions a')).toEqual(['Change']);
  const refused = await visitor.submit(`/dashboard/keys/${id}/rotate`, { overlap: '0' });
  expect(refused.refusal()).toBe(
    '409 The key has expired, so it gets no new secret. Change the last day first.',
  );

  const expiry = `/dashboard/keys/${id}/change`;
  expect((await visitor.submit(expiry, { expires: '2020-01-01' })).textOf('.fault')).toBe(
    'The last day must be today or later.',
  );
  await createKey(service.sql, accountId, 'other', 'test');
  const other = await createKey(service.sql, accountId, 'other', 'test');
  const full = await visitor.submit(expiry, { expires: '2999-12-31' });
  expect([full.status, full.textOf('[role=alert]')]).toEqual([409, expect.stringContaining('The 2 keys')]);
  await visitor.submit(`/dashboard/keys/${other.id}/revoke`, {});
  expect((await visitor.submit(expiry, { expires: '2999-12-31' })).status).toBe(303);
  await until('the key works', async () => (await usage(secret)) === 200);
  await visitor.submit(expiry, { expires: '' });
  const [key] = await service.sql`SELECT expires_at FROM api_keys WHERE id = ${id}`;
  expect(key!.expires_at).toBeNull();
});

test('a revoked key says since when, and allows no change', async () => {
  const { visitor, id } = await withKey();
  await visitor.submit(`/dashboard/keys/${id}/revoke`, {});
  const page = await visitor.get(`/dashboard/keys/${id}`);
  expect(page.textOf('.heading .badge.bad')).toStartWith('Revoked ');
  expect(page.linksOf('main > .actions a')).toEqual([]);
  // In another tab its forms may still be open: each leads to the page that says that it is revoked.
  const fields = { form_token: await formTokenOf(visitor, '/dashboard/keys'), name: 'x', overlap: '0' };
  const changes = Object.keys(ROUTES).filter((path) => path.startsWith('/keys/:id/'));
  expect(changes.length).toBeGreaterThan(3);
  for (const path of changes) {
    const address = `/dashboard${path.replace(':id', id)}`;
    for (const answer of [await visitor.get(address), await visitor.post(address, fields)])
      expect([path, answer.headers.get('location')]).toEqual([path, `/dashboard/keys/${id}`]);
  }
});

test('calls with a key that has ended are counted by key, and the page of the key has its use', async () => {
  const { visitor, secret, id } = await withKey();
  for (const query of ['a', 'b']) await call(service.url, `/companies?q=${query}`, { key: secret });
  const counts = async () => (await visitor.get(`/dashboard/keys/${id}`)).textsOf('.legend li');
  expect(await counts()).toEqual(['Answered (200) 2']);
  await visitor.submit(`/dashboard/keys/${id}/revoke`, {});
  await until('the refusal', async () => (await usage(secret)) === 401);
  await eventually(counts, ['Answered (200) 2', 'Key or secret had ended (401) 1']);
});

test('the page of a key tells whether the old secret is still used, and ends it now', async () => {
  const { visitor, secret, id } = await withKey();
  await visitor.submit(`/dashboard/keys/${id}/rotate`, { overlap: '86400' });
  const old = () => visitor.textAt(`/dashboard/keys/${id}`, '[data-old-secret]');
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
