import { afterAll, expect, test } from 'bun:test';
import { formatsOf } from '../../../src/dashboard/ui/language.ts';
import { changePlan, setSuspended } from '../../../src/metering/accounts/changes.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { call } from '../../support/client.ts';
import { until } from '../../support/until.ts';
import { startDashboardService, usedBy } from '../service.ts';
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
  expect([refused.status, refused.textOf('[role=alert]')]).toEqual([
    409,
    'All 5 test keys are in use: revoke one.',
  ]);
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

test('the Free quota of 2 is shown and enforced, also when many tabs press at once', async () => {
  const { visitor, accountId } = await createMember(service);
  await makeKey(visitor, 'first');
  expect((await visitor.get('/dashboard/keys')).textOf('[data-figure=quota]')).toBe('1 of 2 in use');

  const tabs = await Promise.all(Array.from({ length: 6 }, () => formTokenOf(visitor, '/dashboard/keys')));
  const answers = await Promise.all(
    tabs.map((form_token, index) => visitor.post('/dashboard/keys', { name: `tab ${index}`, form_token })),
  );
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
  const refused = answers.find((answer) => answer.status === 409)!;
  expect(refused.textOf('[role=alert]')).toContain('The 2 keys of the plan are in use.');
  expect(refused.textOf('#new-secret')).toBeNull();
  const keys = await service.sql`SELECT 1 FROM api_keys WHERE account_id = ${accountId}`;
  expect(keys.length).toBe(2);
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

test('Plus has room for 10,000 keys; they are listed by pages', async () => {
  const { visitor, accountId } = await createMember(service);
  await changePlan(service.sql, accountId, 'plus', {}, 'test');
  await makeKey(visitor, 'newest');
  await storeKeys(accountId, 9_998, 'active');
  const first = await visitor.get('/dashboard/keys');
  expect(first.textOf('[data-figure=quota]')).toBe('9,999 of 10,000 in use');
  const names = ({ textsOf }: typeof first) => textsOf('.card.list tbody th');
  expect(names(first)).toEqual(['newest', ...Array.from({ length: 99 }, (_, n) => `stored ${n + 1}`)]);
  expect(first.textsOf('.contents a')).toEqual(['Older']);
  const second = await visitor.get(first.linksOf('.contents a')[0]!);
  expect(names(second)).toEqual(Array.from({ length: 100 }, (_, n) => `stored ${n + 100}`));
  expect(second.textOf('.contents a')).toBe('Latest');
  expect(second.linksOf('.contents a')[0]).toBe('/dashboard/keys?q=&state=all');
  await makeKey(visitor, 'last');
  const full = await visitor.get('/dashboard/keys', { 'Accept-Language': 'pt' });
  expect(full.textOf('.create')).toContain('As 10 000 chaves estão em uso: revogue uma.');
});

test('more keys than a plan may create in a day are refused with the reason, and only the latest that ended are listed', async () => {
  const { visitor, accountId } = await createMember(service);
  await makeKey(visitor, 'first');
  await storeKeys(accountId, 120, 'revoked');
  const refused = await visitor.submit('/dashboard/keys', { name: 'one more' });
  expect([refused.status, refused.textOf('[role=alert]')]).toEqual([
    409,
    'An account of this plan can create 20 keys in 24 hours, and has created them. Try again later.',
  ]);
  const portuguese = await visitor.get('/dashboard/keys', { 'Accept-Language': 'pt' });
  expect(portuguese.textOf('main details.card .hint')).toBe('As que terminaram antes não aparecem.');
  const page = await visitor.get('/dashboard/keys');
  expect(page.textOf('main details.card summary')).toBe('Revoked and expired keys (50)');
  expect(page.countOf('main details tbody tr')).toBe(50);
  expect(page.textOf('main details.card .hint')).toBe('Those that ended earlier are not listed.');
  const [key] =
    await service.sql`SELECT id FROM api_keys WHERE account_id = ${accountId} AND revoked_at IS NULL`;
  expect((await visitor.submit(`/dashboard/keys/${key!.id}/revoke`, {})).status).toBe(303);
});

test('an expired key gives its place to another, and stands with those that ended', async () => {
  const { visitor, accountId } = await createMember(service);
  for (const name of ['short', 'long']) await makeKey(visitor, name);
  await service.sql`UPDATE api_keys SET expires_at = now() WHERE account_id = ${accountId} AND name = 'short'`;
  const page = await visitor.get('/dashboard/keys');
  expect(page.textOf('[data-figure=quota]')).toBe('1 of 2 in use');
  expect(page.textOf('main details.card summary')).toBe('Revoked and expired keys (1)');
  expect(page.textOf('main details tbody th')).toMatch(/^short Expired \d+ \w+ \d{4}, \d\d:\d\d$/);
  expect(page.countOf('.card.list tbody tr')).toBe(1);
  await makeKey(visitor, 'next');
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

test('a suspended account gets no key and no call, and no first steps', async () => {
  const { visitor, accountId, ...person } = await createMember(service);
  await setSuspended(service.sql, accountId, true, 'test', 'Invoice 17 is overdue');
  await visitor.submit('/dashboard/sign-in', { ...person });
  // A first call would be refused.
  expect((await visitor.get('/dashboard')).textOf('.steps')).toBeNull();
  const fields = { name: 'x', q: 'abaco', kind: 'search', list: '500002576' };
  for (const path of ['keys', 'try', 'screen']) {
    const page = await visitor.submit(`/dashboard/${path}`, fields);
    expect([path, page.status]).toEqual([path, 403]);
    expect(page.textOf('[role=alert]')).toContain('suspended');
  }
  expect(await usedBy(service, accountId)).toBe(0);
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
