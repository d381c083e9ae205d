/**
 * The limits of a key: its rights, its budget and its share of the rate. Every endpoint and tool has a right, and a key without it is
 * refused after its token and before all else.
 */
import { afterAll, expect, test } from 'bun:test';
import { methodOf } from '../../src/http/api-route.ts';
import { exampleOf } from '../../src/http/input.ts';
import { RIGHTS, type Right } from '../../src/http/right.ts';
import { DEFINITIONS, TOOLS } from '../../src/mcp/tools.ts';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { activityRoute } from '../../src/metering/activity/activity-route.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import type { BudgetPeriod, KeyLimits } from '../../src/metering/keys/limits.ts';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { keyRoute } from '../../src/metering/usage/key-route.ts';
import { secretStart } from '../../src/platform/observability/redaction.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { requestFor } from '../companies/test-world/requests.ts';
import { type Caller, PLENTY, startApi } from '../support/api.ts';
import { ask, tokensOf } from '../support/ask.ts';
import { csv, nif } from '../support/companies.ts';
import { META, REVISION, resultOf, send, WAYS } from '../support/mcp.ts';
import { eventually } from '../support/until.ts';

const api = await startApi({ directory: csv(1, 4), env: { BUY_URL: 'https://shop.example/buy' } });
afterAll(() => api.stop());
const caller = await api.caller({ ...PLENTY, plan: 'plus' });

const routes = API_ROUTES.map((route) => [`${methodOf(route)} ${route.path}`, route] as const);

/** Makes a key with limits, of the account or another one. */
const makeKey = (limits: Partial<KeyLimits>, { accountId } = caller, isTest = false) =>
  createKey(api.sql, accountId, 'given away', 'test', null, generateSecret(undefined, isTest), limits);

/** The secret of a key with these rights. */
const keyWith = async (only: Right[], of?: Caller, isTest?: boolean) =>
  (await makeKey({ only }, of, isTest)).secret;

/** A right that is not the route's. */
const otherThan = (right: Right | null) => RIGHTS.find((one) => one !== right)!;

test('each right has a route or is known to come, and the key alone is open to all', () => {
  expect(API_ROUTES.filter(({ right }) => right === null).toSorted()).toEqual(
    [keyRoute, activityRoute].toSorted(),
  );
  for (const { right } of TOOLS.values()) expect(RIGHTS).toContain(right!);
});

test.each(routes)(
  '%s: a key with its right is answered, and one with all others is not',
  async (_name, route) => {
    const { right } = route;
    const [path, options] = requestFor(route, null);
    const own = await keyWith(right === null ? [otherThan(null)] : [right]);
    expect((await ask(api, path, { ...options, key: own })).kind).not.toBe('not-permitted');
    if (right === null) return;
    const others = await keyWith(RIGHTS.filter((one) => one !== right));
    const { used } = await api.ledger(caller);
    const { status, kind, body, headers } = await ask(api, path, { ...options, key: others });
    expect([status, kind, body.detail, headers.get('x-credits')]).toEqual([
      403,
      'not-permitted',
      `The key lacks the permission "${right}".`,
      '0',
    ]);
    expect((await api.ledger(caller)).used).toBe(used);
  },
);

test.each(routes.filter(([, { right }]) => right !== null))(
  '%s: the refusal takes a token, and comes before the input is read',
  async (_name, route) => {
    const poor = await api.caller({ limits: { requestsPerMinute: 2 }, included: 0 });
    const key = await keyWith([otherThan(route.right)], poor);
    const [path, options] = requestFor(route, 'validation');
    const bad = { ...options, headers: { ...options.headers, 'Idempotency-Key': 'bad key!' }, key };
    const answers = [await ask(api, path, bad), await ask(api, path, bad), await ask(api, path, bad)];
    expect(answers.map(({ kind }) => kind)).toEqual([
      'not-permitted',
      'not-permitted',
      'rate-limit-exceeded',
    ]);
    expect(answers.map(tokensOf)).toEqual([1, 0, 0]);
  },
);

test.each([...TOOLS.values()].map((tool) => [tool.name, tool] as const))(
  '%s: a key without its right has an error of the tool, or the key in place of the account',
  async (name, { route, right, otherwise }) => {
    const key = await keyWith([otherThan(right)]);
    const result = await resultOf(api, name, exampleOf(route), { key });
    if (otherwise === undefined) {
      expect(result).toMatchObject({ isError: true, structuredContent: { status: 403 } });
      expect(result.content[0].text).toMatch(/^The key may not do this\..*Stop, and tell the user\./);
    } else {
      expect(result.structuredContent).toEqual((await ask(api, otherwise.path, { key })).body);
    }
  },
);

async function listed(key: string) {
  const response = await send(
    api,
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } },
    { key, headers: { 'MCP-Protocol-Version': REVISION, 'Mcp-Method': 'tools/list' } },
  );
  const { result } = (await response.json()) as {
    result: { tools: { name: string }[]; cacheScope: string };
  };
  return { names: result.tools.map(({ name }) => name), scope: result.cacheScope };
}

test('tools/list has the tools that a key may call, and is private then', async () => {
  const all = DEFINITIONS.map(({ name }) => name);
  expect(await listed(caller.key)).toEqual({ names: all, scope: 'public' });
  for (const right of RIGHTS) {
    const own = all.filter((name) => TOOLS.get(name)!.right === right || name === 'get_usage');
    expect([right, await listed(await keyWith([right]))]).toEqual([right, { names: own, scope: 'private' }]);
  }
});

test('the rights of a key that is known change within 5 s', async () => {
  const { id, secret: key } = await makeKey({ only: ['datasets'] });
  expect((await ask(api, '/datasets', { key })).kind).toBeNull();
  expect((await api.command('key', 'limit', id, '--only', 'search')).code).toBe(0);
  await eventually(async () => (await ask(api, '/datasets', { key })).kind, 'not-permitted');
});

test('a test key has rights, too', async () => {
  const key = await keyWith(['datasets'], caller, true);
  expect((await ask(api, '/datasets', { key })).kind).toBeNull();
  const refused = await ask(api, '/usage', { key });
  expect([refused.kind, refused.headers.get('x-test-key')]).toEqual(['not-permitted', 'true']);
});

test('a key with some rights sees nothing of its account in a refusal', async () => {
  const poor = await api.caller({ ...PLENTY, included: 0 });
  const given = await keyWith(['search', 'debts'], poor);
  const [whole, partial] = [
    await ask(api, '/companies?q=a', { key: poor.key }),
    await ask(api, '/companies?q=a', { key: given }),
  ];
  expect(whole.body).toMatchObject({ limit: 0, buy: expect.stringContaining('shop.example') });
  expect(partial.kind).toBe('monthly-quota-exceeded');
  expect(Object.keys(partial.body).toSorted()).toEqual([
    ...['detail', 'quota', 'reset', 'status', 'title', 'type'],
  ]);
});

test('refusals by the limits of a key are counted apart', async () => {
  const account = await api.caller(PLENTY);
  const key = await keyWith(['datasets'], account);
  for (let sent = 0; sent < 2; sent += 1) await ask(api, '/usage', { key });
  const counted = async () => {
    const rows =
      await api.sql`SELECT kind, calls::int FROM key_counts WHERE is_error AND account_id = ${account.accountId}`;
    return [...rows].map((row) => ({ ...row }));
  };
  await eventually(counted, [{ kind: 'key-limits', calls: 2 }]);
});

test('GET /activity has the rows of the account for the right `activity`, and those of the key for any other', async () => {
  const account = await api.caller({ ...PLENTY, plan: 'plus' });
  const [own, all] = [
    await makeKey({ only: ['datasets', 'usage'] }, account),
    await makeKey({ only: ['activity'] }, account),
  ];
  for (const key of [account.key, own.secret]) await ask(api, '/companies', { key });
  const keysOf = async (key: string) => {
    const { body } = await ask(api, '/activity', { key });
    return [...new Set(body.data.map((row: { key: string }) => row.key))].toSorted();
  };
  const both = [account.keyId, own.id].toSorted();
  await eventually(() => keysOf(account.key), both);
  expect(await keysOf(all.secret)).toEqual(both);
  expect(await keysOf(own.secret)).toEqual([own.id]);
});

test('GET /key says what the holder of a key may know', async () => {
  const expires = new Date(Date.now() + 86_400_000);
  const limits: Partial<KeyLimits> = { budget: { credits: 50, per: 'ever' }, only: ['lookup'] };
  const { accountId } = caller;
  const { secret } = await createKey(api.sql, accountId, 'colleague', 'test', expires, undefined, limits);
  await ask(api, '/companies/1', { key: secret });
  expect((await ask(api, '/key', { key: secret })).body).toEqual({
    data: {
      name: 'colleague',
      start: secretStart(secret),
      expires: expires.toISOString(),
      only: ['lookup'],
      budget: { credits: 50, per: 'ever', used: 1, resets: null },
      requests_per_minute: null,
      test: false,
    },
    error: null,
  });
});

/** A key of a new account with a budget. */
async function budgetedKey(credits: number, per: BudgetPeriod, included = 1000) {
  const account = await api.caller({ included, limits: { requestsPerMinute: 6000 } });
  return { ...account, key: (await makeKey({ budget: { credits, per } }, account)).secret };
}

const screen = (key: string, items: number) =>
  ask(api, '/debts', { json: { nifs: Array(items).fill(nif(1)) }, key });
const REFUSALS = {
  day: [429, 'key-budget-exceeded'],
  month: [429, 'key-budget-exceeded'],
  ever: [403, 'key-budget-spent'],
} as const;
const PERIODS = Object.keys(REFUSALS) as BudgetPeriod[];

test.each(PERIODS)(
  'a budget of a %s: a list gets as many items, and then every call is refused for nothing',
  async (per) => {
    const { accountId, key } = await budgetedKey(3, per);
    const [status, kind] = REFUSALS[per];
    const list = await screen(key, 5);
    expect([list.status, list.headers.get('x-credits')]).toEqual([200, '3']);
    const items: { status: number; problem?: { type: string; reset?: string } }[] = list.body.data;
    expect(items.map((item) => item.status)).toEqual([200, 200, 200, status, status]);
    expect(items[3]!.problem!.type).toEndWith(`/problems/${kind}`);
    const refused = await screen(key, 1);
    expect([refused.status, refused.kind, refused.headers.get('x-credits')]).toEqual([status, kind, '0']);
    const next = new Date();
    if (per === 'month') next.setUTCMonth(next.getUTCMonth() + 1, 1);
    next.setUTCHours(per === 'month' ? 0 : 24, 0, 0, 0);
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
  const { key } = await budgetedKey(2, per);
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
  const { key } = await budgetedKey(5, 'day', 2);
  const { _meta } = await resultOf(api, 'check_debts', { nifs: [nif(1)] }, { key });
  expect(_meta.credits_left).toBe(1);
  expect((await screen(key, 2)).body.data.map(({ status }: { status: number }) => status)).toEqual([
    200, 429,
  ]);
  expect((await screen(key, 1)).kind).toBe('monthly-quota-exceeded');
});

test('a repetition by another key of the account is told nothing of the budget that the first one had', async () => {
  const first = await budgetedKey(3, 'ever');
  await changePlan(api.sql, first.accountId, 'plus', {}, 'test');
  const { secret } = await createKey(api.sql, first.accountId, '', 'test');
  const headers = { 'Idempotency-Key': 'one' };
  const send = (key: string) => ask(api, '/debts', { json: { nifs: Array(5).fill(nif(1)) }, key, headers });
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

/** Its rate is low, so that what flows back into the bucket stays below one token. */
async function accountWithShare(share: number, isTest = false) {
  const account = await api.caller({ limits: { requestsPerMinute: 6 } });
  const { secret: key } = await makeKey({ requests_per_minute: share }, account, isTest);
  return { account, production: account.key, key };
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
    expect(rateOf(await ask(api, '/usage', { key: production }))).toEqual(['6', '3', '6;w=60']);
  },
);

test('an empty bucket of the account refuses a key with a share, too, and says so', async () => {
  const { production, key } = await accountWithShare(5);
  for (let call = 0; call < 6; call += 1) await ask(api, '/key', { key: production });
  const refused = await ask(api, '/key', { key });
  expect([refused.status, refused.body.scope]).toEqual([429, 'account']);
  expect(refused.body.detail).toStartWith('The account has 6 requests per minute.');
  const own = await ask(api, '/key', { key: production });
  expect([own.status, own.body.scope, ...rateOf(own)]).toEqual([429, 'account', '6', '0', '6;w=60']);
});

test('/usage stays the account’s, and a share above the account’s rate changes no header', async () => {
  const { account, key } = await accountWithShare(3);
  const { body, headers } = await ask(api, '/usage', { key });
  expect([body.data.rateLimit, headers.get('ratelimit-limit')]).toEqual([{ limit: 6, remaining: 5 }, '3']);
  const { secret: wide } = await makeKey({ requests_per_minute: 1000 }, account, true);
  expect(rateOf(await ask(api, '/usage', { key: wide }))).toEqual(['6', '4', '6;w=60']);
});
