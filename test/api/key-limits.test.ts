/** The budget of a key over HTTP: what it refuses, in a list and by a tool, and what is told of it. */
import { afterAll, expect, test } from 'bun:test';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import type { BudgetPeriod } from '../../src/metering/keys/limits.ts';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { post } from '../companies/test-world/requests.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { resultOf, WAYS } from '../support/mcp.ts';

const api = await startApi();
afterAll(() => api.stop());

/** A key of a new account with a budget. */
async function keyOf(credits: number, per: BudgetPeriod, included = 1000) {
  const { accountId } = await api.caller({ included, limits: { requestsPerMinute: 6000 } });
  const key = generateSecret();
  await createKey(api.sql, accountId, '', 'test', null, key, { budget: { credits, per }, only: null });
  return { accountId, key };
}

const screen = (key: string, items: number) =>
  ask(api, '/debts', { ...post({ nifs: Array(items).fill(nif(1)) }), key });
const REFUSALS = {
  day: [429, 'key-budget-exceeded'],
  month: [429, 'key-budget-exceeded'],
  ever: [403, 'key-budget-spent'],
} as const;
const PERIODS = Object.keys(REFUSALS) as BudgetPeriod[];

test.each(PERIODS)(
  'a budget of a %s: a list gets as many items, and then every call is refused for nothing',
  async (per) => {
    const { accountId, key } = await keyOf(3, per);
    const [status, kind] = REFUSALS[per];
    const list = await screen(key, 5);
    expect([list.status, list.headers.get('x-credits')]).toEqual([200, '3']);
    const items: { status: number; problem?: { type: string; reset?: string } }[] = list.body.data;
    expect(items.map((item) => item.status)).toEqual([200, 200, 200, status, status]);
    expect(items[3]!.problem!.type).toEndWith(`/problems/${kind}`);
    const refused = await screen(key, 1);
    expect([refused.status, refused.kind, refused.headers.get('x-credits')]).toEqual([status, kind, '0']);
    const next = new Date();
    next.setUTCHours(24, 0, 0, 0);
    if (per === 'month') next.setUTCMonth(new Date().getUTCMonth() + 1, 1);
    const resets = per === 'ever' ? undefined : next.toISOString();
    expect([items[3]!.problem!.reset, refused.body.reset]).toEqual([resets, resets]);
    const waitS = refused.headers.get('retry-after');
    if (per === 'ever') expect(waitS).toBeNull();
    else expect(Number(waitS)).toBeWithin(1, 31 * 86_400 + 1);
    expect(await api.ledger({ accountId })).toEqual({ used: 3, credits: 0 });
    const { data } = (await ask(api, '/key', { key })).body;
    expect(data.budget).toEqual({ credits: 3, per, used: 3, resets: resets ?? null });
  },
);

test.each(PERIODS)('a tool tells a model of a budget of a %s what is left, and to stop', async (per) => {
  const { key } = await keyOf(2, per);
  const call = () => resultOf(api, 'check_debts', { nifs: [nif(1)] }, { key });
  const keyLeft = async () => (await WAYS.MCP(api, '/usage', { key })).body.data.key_left;
  expect(await keyLeft()).toBe(2);
  expect((await call())._meta).toMatchObject({ credits: 1, credits_left: 1 });
  expect((await call())._meta).toMatchObject({ credits: 1, credits_left: 0 });
  expect(await keyLeft()).toBe(0);
  const { isError, content, _meta } = await call();
  expect(_meta.credits).toBe(0);
  expect(isError).toBe(true);
  expect(content[0].text).toMatch(
    /The key has .*2 credits.* Stop, and tell the user\. .*No credit was charged\.$/,
  );
});

test('the lesser of account and key is what a tool says is left, and what refuses', async () => {
  const { key } = await keyOf(5, 'day', 2);
  const { _meta } = await resultOf(api, 'check_debts', { nifs: [nif(1)] }, { key });
  expect(_meta.credits_left).toBe(1);
  expect((await screen(key, 2)).body.data.map(({ status }: { status: number }) => status)).toEqual([
    200, 429,
  ]);
  expect((await screen(key, 1)).kind).toBe('monthly-quota-exceeded');
});

test('a repetition by another key of the account is told nothing of the budget that the first one had', async () => {
  const first = await keyOf(3, 'ever');
  await changePlan(api.sql, first.accountId, 'plus', {}, 'test');
  const { secret } = await createKey(api.sql, first.accountId, '', 'test');
  const request = post({ nifs: Array(5).fill(nif(1)) });
  const send = (key: string) =>
    ask(api, '/debts', { ...request, key, headers: { ...request.headers, 'Idempotency-Key': 'one' } });
  const kinds = async (key: string) =>
    (await send(key)).body.data.map(
      ({ status, problem }: { status: number; problem?: { type: string } }) =>
        problem?.type.split('/').at(-1) ?? status,
    );
  expect(await kinds(first.key)).toEqual([200, 200, 200, 'key-budget-spent', 'key-budget-spent']);
  expect(await kinds(secret)).toEqual([200, 200, 200, 'service-unavailable', 'service-unavailable']);
  expect(await kinds(first.key)).toEqual([200, 200, 200, 'key-budget-spent', 'key-budget-spent']);
});

const rateOf = ({ headers }: { headers: Headers }) =>
  ['limit', 'remaining', 'policy'].map((name) => headers.get(`ratelimit-${name}`));

async function accountWithShare(share: number | null, isTest = false) {
  const { accountId, key: production } = await api.caller({ limits: { requestsPerMinute: 10 } });
  const key = generateSecret(undefined, isTest);
  const limits = { requests_per_minute: share };
  await createKey(api.sql, accountId, '', 'test', null, key, limits);
  return { accountId, production, key };
}

test.each([false, true])(
  'a key beyond its share is refused, and production goes on (test key: %p)',
  async (isTest) => {
    const { production, key } = await accountWithShare(2, isTest);
    const first = await ask(api, '/key', { key });
    expect(first.body.data.requests_per_minute).toBe(2);
    expect(rateOf(first)).toEqual(['2', '1', '2;w=60']);
    await ask(api, '/key', { key });
    for (let call = 0; call < 3; call += 1) {
      const refused = await ask(api, '/key', { key });
      expect([refused.status, refused.kind, refused.body.scope]).toEqual([429, 'rate-limit-exceeded', 'key']);
      expect(refused.body.detail).toStartWith(
        "The key's share of the account's rate is 2 requests per minute.",
      );
      expect(rateOf(refused)).toEqual(['2', '0', '2;w=60']);
      expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 31);
    }
    // The refused requests took nothing of the account.
    expect(rateOf(await ask(api, '/usage', { key: production }))).toEqual(['10', '7', '10;w=60']);
  },
);

test('an empty bucket of the account refuses a key with a share, too, and says so', async () => {
  const { production, key } = await accountWithShare(5);
  for (let call = 0; call < 10; call += 1) await ask(api, '/key', { key: production });
  const refused = await ask(api, '/key', { key });
  expect([refused.status, refused.body.scope]).toEqual([429, 'account']);
  expect(refused.body.detail).toStartWith('The account has 10 requests per minute.');
  const own = await ask(api, '/key', { key: production });
  expect([own.status, own.body.scope, ...rateOf(own)]).toEqual([429, 'account', '10', '0', '10;w=60']);
});

test('/usage stays the account’s, and a share above the account’s rate changes no header', async () => {
  const { accountId, key } = await accountWithShare(3);
  const { body, headers } = await ask(api, '/usage', { key });
  expect([body.data.rateLimit, headers.get('ratelimit-limit')]).toEqual([{ limit: 10, remaining: 9 }, '3']);
  const wide = generateSecret(undefined, true);
  await createKey(api.sql, accountId, '', 'test', null, wide, { requests_per_minute: 1000 });
  expect(rateOf(await ask(api, '/usage', { key: wide }))).toEqual(['10', '8', '10;w=60']);
});
