/** Every endpoint and tool costs a token and its price, and `X-Credits` says what the ledger says. */
import { afterAll, expect, test } from 'bun:test';
import { methodOf } from '../../src/http/api-route.ts';
import { changeLimits } from '../../src/metering/accounts/changes.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { hasTool, requestFor } from '../companies/test-world/requests.ts';
import { rollUpAll } from '../metering/credits/ledger.ts';
import { type Caller, PLENTY, startApi } from '../support/api.ts';
import { ask, tokensOf } from '../support/ask.ts';
import type { CallAnswer } from '../support/client.ts';
import { csv, nif } from '../support/companies.ts';
import { resultOf, WAYS } from '../support/mcp.ts';
import { createTestKey } from '../support/service.ts';
import { eventually } from '../support/until.ts';

const api = await startApi({ directory: csv(1, 4) });
afterAll(() => api.stop());

const creditsOf = ({ headers }: Pick<CallAnswer, 'headers'>) => headers.get('x-credits');

/** The log's line of the latest request. */
const logged = () =>
  api.logLines.findLast(({ msg, route }) => msg === 'request' && route !== '/openapi/json');

const cases = API_ROUTES.flatMap((route) =>
  (hasTool(route) ? (['REST', 'MCP'] as const) : (['REST'] as const)).map(
    (way) => [way, `${methodOf(route)} ${route.path}`, route] as const,
  ),
);

test.each(cases)('by %s: answers and bad input of %s have what was charged', async (way, _name, route) => {
  // Low, so that what flows back into the bucket stays below one token.
  const caller = await api.caller({ limits: { requestsPerMinute: 3 } });
  const price = route.charge === null ? 0 : 1;
  for (const [n, kind] of ([null, 'validation'] as const).entries()) {
    const [path, options] = requestFor(route, kind);
    const answer = await WAYS[way](api, path, { ...options, key: caller.key });
    expect([kind, creditsOf(answer), tokensOf(answer)]).toEqual([kind, String(price), 2 - n]);
    expect((await api.ledger(caller)).used).toBe(price * (n + 1));
    await eventually(async () => logged()?.credits, price);
  }
  await rollUpAll(api.sql);
  const calls = await api.sql`
    SELECT kind, sum(calls)::int AS calls FROM calls_by_day WHERE account_id = ${caller.accountId} GROUP BY kind`;
  expect([...calls]).toEqual(price === 0 ? [] : [{ kind: route.charge, calls: 2 }]);
});

test.each(cases)('by %s: refusals of %s, and answers to a test key, have 0', async (way, _name, route) => {
  const [path, options] = requestFor(route, null);
  const poor = await api.caller({ ...PLENTY, included: 0 });
  const unpaid = await WAYS[way](api, path, { ...options, key: poor.key });
  expect([unpaid.kind, creditsOf(unpaid)]).toEqual([route.charge && 'monthly-quota-exceeded', '0']);
  const slow = await api.caller({ limits: { requestsPerMinute: 1 } });
  await ask(api, '/usage', { key: slow.key });
  const limited = await WAYS[way](api, path, { ...options, key: slow.key });
  expect([limited.kind, creditsOf(limited)]).toEqual(['rate-limit-exceeded', '0']);
  const testKey = await createTestKey(api.sql, poor.accountId);
  expect(creditsOf(await WAYS[way](api, path, { ...options, key: testKey }))).toBe('0');
  await eventually(async () => logged()?.credits, 0);
  const unknown = await WAYS[way](api, path, { ...options, key: 'svc_nobody' });
  expect([unknown.status, creditsOf(unknown)]).toEqual([401, null]);
});

test.each(cases)(
  'by %s: %s takes an Idempotency-Key if it has a body, or is a tool',
  async (way, _, route) => {
    const caller = await api.caller({ included: 100 });
    const [path, options] = requestFor(route, null);
    const faultOf = async (text: string) => {
      const headers = { ...options.headers, 'Idempotency-Key': text };
      const { kind, body } = await WAYS[way](api, path, { ...options, key: caller.key, headers });
      return kind === 'validation' && body.detail.includes('Idempotency-Key');
    };
    const takes = way === 'MCP' || route.body !== undefined;
    const bad = ['', 'a b', 'ä', 'x'.repeat(65), 'a,b'];
    for (const text of bad) expect([text, await faultOf(text)]).toEqual([text, takes]);
    for (let i = 0; i < 2; i += 1) expect(await faultOf('x'.repeat(64))).toBe(false);
    // Each bad one at the price of one, and of the good ones the first.
    const charges = bad.length + (takes ? 1 : 2);
    expect((await api.ledger(caller)).used).toBe(route.charge === null ? 0 : charges);
  },
);

const PLANS = ['free', 'plus', 'lapsed'] as const;
const ALLOWANCES = { free: 500, plus: 1250, lapsed: 500 };
/** Used before: nothing, a part, and more than the lowered allowance. */
const USED = [0, 20, 93];
const LOWERED = 50;

const STATES = PLANS.flatMap((plan) =>
  USED.flatMap((used) =>
    [0, 7].flatMap((purchased) =>
      [true, false].flatMap((spends) =>
        [null, LOWERED].map((limit) => {
          // The period of a subscription ends with it.
          const usedNow = plan === 'lapsed' ? 0 : used;
          const included = Math.max(0, (limit ?? ALLOWANCES[plan]) - usedNow);
          return { plan, used, purchased, spends, limit, left: included + (spends ? purchased : 0) };
        }),
      ),
    ),
  ),
);

async function accountIn({ plan, used, purchased, spends, limit }: (typeof STATES)[number]): Promise<Caller> {
  const caller = await api.caller({
    plan: plan === 'free' ? 'free' : 'plus',
    ...(purchased > 0 && { credits: purchased }),
  });
  const { accountId } = caller;
  await changeLimits(api.sql, accountId, { spendPurchased: spends, includedCredits: limit }, 'test');
  await api.sql`UPDATE balances SET used = ${used} WHERE account_id = ${accountId}`;
  if (plan === 'lapsed')
    await api.sql`
      UPDATE balances SET plus_until = now() - interval '1 minute', period_end = now() - interval '1 minute'
      WHERE account_id = ${accountId}`;
  return caller;
}

const screen = (key: string, items: number) =>
  ask(api, '/debts', { json: { nifs: Array(items).fill(nif(1)) }, key });

/** Credits that calls get until they are refused. */
async function spendAll(key: string): Promise<number> {
  let spent = 0;
  for (;;) {
    const { status, body } = await screen(key, 1000);
    if (status === 429) return spent;
    spent += body.data.filter(({ status }: { status: number }) => status === 200).length;
  }
}

test.each(STATES)(
  '$plan, used $used of $limit, purchased $purchased, spends them: $spends',
  async (state) => {
    const { key } = await accountIn(state);
    const { data } = (await ask(api, '/usage', { key })).body;
    expect([data.left, data.spendPurchased, data.credits]).toEqual([
      state.left,
      state.spends,
      state.purchased,
    ]);
    expect((await WAYS.MCP(api, '/usage', { key })).body.data).toMatchObject({ left: state.left });
    let { left } = state;
    if (left > 0) {
      left -= 1;
      const { _meta } = await resultOf(api, 'check_debts', { nifs: [nif(1)] }, { key });
      expect(_meta.credits_left).toBe(left);
    }
    expect(await spendAll(key)).toBe(left);
    expect((await ask(api, '/usage', { key })).body.data.left).toBe(0);
  },
);
