/** In every state of an account `/usage`, `get_usage` and `credits_left` say what the next calls get. */
import { afterAll, expect, test } from 'bun:test';
import { changeLimits, setSuspended } from '../../src/metering/accounts/changes.ts';
import { post } from '../companies/test-world/requests.ts';
import { type Caller, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { callTool, WAYS } from '../support/mcp.ts';

const api = await startApi();
afterAll(() => api.stop());

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
  ask(api, '/debts', { ...post({ nifs: Array(items).fill(nif(1)) }), key });

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
      const call = await callTool(api, 'check_debts', { nifs: [nif(1)] }, { key });
      const { result } = (await call.json()) as { result: { _meta: { credits_left: number } } };
      left -= 1;
      expect(result._meta.credits_left).toBe(left);
    }
    expect(await spendAll(key)).toBe(left);
    expect((await ask(api, '/usage', { key })).body.data.left).toBe(0);
  },
);

test('a suspended account is told nothing, and its calls get nothing', async () => {
  const { accountId, key } = await api.caller({ credits: 7 });
  await setSuspended(api.sql, accountId, true, 'test');
  expect((await ask(api, '/usage', { key })).status).toBe(401);
  expect((await screen(key, 1)).status).toBe(401);
});
