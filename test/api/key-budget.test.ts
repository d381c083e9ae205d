/** The budget of a key over HTTP: what it refuses, in a list and by a tool, and what is told of it. */
import { afterAll, expect, test } from 'bun:test';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import type { BudgetPeriod } from '../../src/metering/keys/limits.ts';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { createKey } from '../../src/metering/keys/store.ts';
import { post } from '../companies/test-world/requests.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { callTool, WAYS } from '../support/mcp.ts';

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
  const call = async () => {
    const { result } = (await (await callTool(api, 'check_debts', { nifs: [nif(1)] }, { key })).json()) as {
      result: {
        isError?: true;
        content: { text: string }[];
        _meta: { credits: number; credits_left?: number };
      };
    };
    return result;
  };
  const keyLeft = async () => (await WAYS.MCP(api, '/usage', { key })).body.data.key_left;
  expect(await keyLeft()).toBe(2);
  expect((await call())._meta).toMatchObject({ credits: 1, credits_left: 1 });
  expect((await call())._meta).toMatchObject({ credits: 1, credits_left: 0 });
  expect(await keyLeft()).toBe(0);
  const { isError, content, _meta } = await call();
  expect(_meta.credits).toBe(0);
  expect(isError).toBe(true);
  expect(content[0]!.text).toMatch(
    /The key has .*2 credits.* Stop, and tell the user\. .*No credit was charged\.$/,
  );
});

test('the lesser of account and key is what a tool says is left, and what refuses', async () => {
  const { key } = await keyOf(5, 'day', 2);
  const answer = await callTool(api, 'check_debts', { nifs: [nif(1)] }, { key });
  const { result } = (await answer.json()) as { result: { _meta: { credits_left: number } } };
  expect(result._meta.credits_left).toBe(1);
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
