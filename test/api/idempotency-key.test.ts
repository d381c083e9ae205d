/** The header `Idempotency-Key` over HTTP: every sentence of docs/api.md about it. credits.test.ts has the places that take it. */
import { afterAll, expect, test } from 'bun:test';
import { importBrackets } from '../companies/debts/debts-support.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { requestText, sendRaw } from '../support/client.ts';
import { nif } from '../support/companies.ts';
import { callTool, resultOf } from '../support/mcp.ts';
import { eventually } from '../support/until.ts';

const NIFS = [nif(1), nif(2), nif(3)];
const api = await startApi({ directory: `nif,legal_name\n${nif(9)},Azul\n` });
await importBrackets(api.database, { [NIFS[0]!]: [7500, 25_000] });
afterAll(() => api.stop());

const post = (key: string, path: string, json: unknown, text?: string) =>
  ask(api, path, { key, json, ...(text !== undefined && { headers: { 'Idempotency-Key': text } }) });

test.each([
  ['/debts', { nifs: NIFS }, 3],
  ['/debts/changes', { after: null }, 1],
  // One name has no candidate.
  ['/resolutions', { names: ['azul', 'azul', 'mar'] }, 2],
  ['/lookups', { nifs: ['500002577', '1'] }, 2],
] as const)(
  'POST %s is answered again, and charged once; each sending takes a token',
  async (path, body, credits) => {
    // A repetition needs no credits. The rate is low, so that no token flows back meanwhile.
    const { accountId, key } = await api.caller({ included: credits, limits: { requestsPerMinute: 4 } });
    const answers = await Promise.all([1, 2, 3].map(() => post(key, path, body, 'import-7_A')));
    answers.push(await post(key, path, body, 'import-7_A'));
    for (const answer of answers) expect([answer.status, answer.body]).toEqual([200, answers[0]!.body]);
    expect(await api.ledger({ accountId })).toEqual({ used: credits, credits: 0 });
    const left = answers.map(({ headers }) => Number(headers.get('RateLimit-Remaining')));
    expect(Math.max(...left) - Math.min(...left)).toBe(3);
    const costs = answers.map(({ headers }) => Number(headers.get('X-Credits')));
    expect(costs.toSorted()).toEqual([0, 0, 0, credits]);
  },
);

test('another body, path, key or account is another request, and a call of /mcp; without the header each is', async () => {
  const { accountId, key } = await api.caller({ included: 100 });
  const other = await api.caller({ included: 100 });
  const used = async (id = accountId) => (await api.ledger({ accountId: id })).used;
  const body = { nifs: [NIFS[0]] };
  await post(key, '/debts', body, 'a');
  await post(key, '/debts', { nifs: [NIFS[1]] }, 'a');
  expect(await used()).toBe(2);
  await post(key, '/lookups', { nifs: ['1'] }, 'a');
  await post(key, '/debts', { nifs: ['1'] }, 'a');
  expect(await used()).toBe(4);
  await post(key, '/debts', body, 'b');
  await post(other.key, '/debts', body, 'a');
  expect([await used(), await used(other.accountId)]).toEqual([5, 1]);
  await post(key, '/debts', body);
  await post(key, '/debts', body);
  expect(await used()).toBe(7);
  const headers = { 'Idempotency-Key': 'a' };
  for (let i = 0; i < 2; i += 1) await callTool(api, 'check_debts', body, { key, headers });
  expect(await used()).toBe(8);
});

test('a body that is not valid, or can not be read, is charged once, too', async () => {
  const { accountId, key } = await api.caller({ included: 100 });
  const used = async () => (await api.ledger({ accountId })).used;
  for (let i = 0; i < 3; i += 1) await post(key, '/debts', { nifs: [] }, 'a');
  expect(await used()).toBe(1);
  for (let i = 0; i < 3; i += 1) await post(key, '/debts', { nifs: ['x'.repeat(70_000)] }, 'a');
  expect(await used()).toBe(2);
  const headers = { 'Content-Type': 'text/plain', 'Idempotency-Key': 'a' };
  for (let i = 0; i < 3; i += 1) {
    const body = JSON.stringify({ nifs: NIFS });
    expect((await ask(api, '/debts', { key, method: 'POST', headers, body })).kind).toBe('validation');
  }
  expect(await used()).toBe(3);
});

test('a repetition counts its errors, but no credits, in the statistics', async () => {
  const { accountId, key } = await api.caller({ included: 100 });
  for (let i = 0; i < 3; i += 1) await post(key, '/debts', { nifs: [] }, 'a');
  for (let i = 0; i < 3; i += 1) await post(key, '/debts', { nifs: ['123', '124'] }, 'b');
  const counted = async () => {
    const [row] = await api.sql`
      SELECT sum(calls)::int AS calls, sum(credits)::int AS credits FROM key_counts WHERE is_error AND account_id = ${accountId}`;
    return { ...row };
  };
  await eventually(counted, { calls: 9, credits: 3 });
  expect((await api.ledger({ accountId })).used).toBe(3);
});

test('a request that was paid in part gets that part again; the others stay what they were, also with new credits', async () => {
  const { accountId, key } = await api.caller({ included: 2 });
  const statuses = async (idempotencyKey = 'a') => {
    const { body } = await post(key, '/debts', { nifs: NIFS }, idempotencyKey);
    return body.data.map((item: { status: number }) => item.status);
  };
  expect(await statuses()).toEqual([200, 200, 429]);
  expect(await statuses()).toEqual([200, 200, 429]);
  await api.sql`UPDATE balances SET credits = 5 WHERE account_id = ${accountId}`;
  expect(await statuses()).toEqual([200, 200, 429]);
  expect(await api.ledger({ accountId })).toEqual({ used: 2, credits: 5 });
  expect(await statuses('b')).toEqual([200, 200, 200]);
  expect(await api.ledger({ accountId })).toEqual({ used: 5, credits: 2 });
});

test('a repetition of POST /debts/changes has as many changes as were paid, and `more`', async () => {
  const { accountId, key } = await api.caller({ included: 100 });
  const asked = { after: null, nifs: [NIFS[1]] };
  const ids = async (idempotencyKey: string) => {
    const { body } = await post(key, '/debts/changes', asked, idempotencyKey);
    return [body.data.length, body.more];
  };
  expect(await ids('a')).toEqual([0, false]);
  await importBrackets(api.database, { [NIFS[0]!]: [7500, 25_000], [NIFS[1]!]: [7500, 25_000] });
  await importBrackets(api.database, { [NIFS[0]!]: [7500, 25_000] });
  expect(await ids('a')).toEqual([1, true]);
  expect(await ids('b')).toEqual([2, false]);
  expect((await api.ledger({ accountId })).used).toBe(3);
});

test.each(['h', '::1', 'xn--a'])(
  'the Host %j, which may be no host of an address, changes nothing',
  async (host) => {
    const { accountId, key } = await api.caller({ included: 100 });
    const body = JSON.stringify({ nifs: NIFS });
    const sent = { Host: host, Authorization: `Bearer ${key}`, 'Idempotency-Key': 'a' };
    const headers = { ...sent, 'Content-Type': 'application/json', 'Content-Length': body.length };
    const request = requestText('POST /api/v1/debts', headers, body);
    for (let i = 0; i < 2; i += 1) expect(await sendRaw(api, request)).toStartWith('HTTP/1.1 200');
    expect(await api.ledger({ accountId })).toEqual({ used: 3, credits: 0 });
  },
);

test('a repeated call of a tool has the credits that are left, too', async () => {
  const { key } = await api.caller({ included: 100 });
  const call = () =>
    resultOf(api, 'check_debts', { nifs: NIFS }, { key, headers: { 'Idempotency-Key': 'a' } });
  for (let i = 0; i < 2; i += 1) expect((await call())._meta.credits_left).toBe(97);
});
