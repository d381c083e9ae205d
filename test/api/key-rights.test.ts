/** The rights of a key: every endpoint and tool has one, and a key without it is refused after its token and before all else. */
import { afterAll, expect, test } from 'bun:test';
import { methodOf } from '../../src/http/api-route.ts';
import { exampleOf } from '../../src/http/input.ts';
import { RIGHTS, type Right } from '../../src/http/right.ts';
import { DEFINITIONS, TOOLS } from '../../src/mcp/tools.ts';
import { activityRoute } from '../../src/metering/activity/activity-route.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { keyRoute } from '../../src/metering/usage/key-route.ts';
import { secretStart } from '../../src/platform/observability/redaction.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { requestFor } from '../companies/test-world/requests.ts';
import { type Caller, startApi } from '../support/api.ts';
import { ask, tokensOf } from '../support/ask.ts';
import { csv } from '../support/companies.ts';
import { META, REVISION, resultOf, send } from '../support/mcp.ts';
import { eventually } from '../support/until.ts';

const api = await startApi({ directory: csv(1, 4), env: { BUY_URL: 'https://shop.example/buy' } });
afterAll(() => api.stop());
const plenty = { limits: { requestsPerMinute: 100_000 }, included: 100_000 };
const caller = await api.caller({ ...plenty, plan: 'plus' });

const routes = API_ROUTES.map((route) => [`${methodOf(route)} ${route.path}`, route] as const);

/** The secret of a key of the account with these rights. */
async function keyWith(
  only: Right[] | null,
  { accountId }: Pick<Caller, 'accountId'> = caller,
  isTest = false,
) {
  const secret = generateSecret(undefined, isTest);
  await createKey(api.sql, accountId, 'given away', 'test', null, secret, { budget: null, only });
  return secret;
}

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
  const key = await keyWith(['datasets']);
  expect((await ask(api, '/datasets', { key })).kind).toBeNull();
  const [{ id }] =
    (await api.sql`SELECT id FROM api_keys WHERE start = ${secretStart(key)} ORDER BY created_at DESC LIMIT 1`) as unknown as [
      { id: string },
    ];
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
  const poor = await api.caller({ ...plenty, included: 0 });
  const given = await keyWith(['search', 'debts'], poor);
  const [whole, partial] = [
    await ask(api, '/companies?q=a', { key: poor.key }),
    await ask(api, '/companies?q=a', { key: given }),
  ];
  expect(whole.body).toMatchObject({ limit: 0, buy: expect.stringContaining('shop.example') });
  expect(partial.kind).toBe('monthly-quota-exceeded');
  expect(Object.keys(partial.body).toSorted()).toEqual([
    'detail',
    'quota',
    'reset',
    'status',
    'title',
    'type',
  ]);
});

test('refusals by the limits of a key are counted apart', async () => {
  const { accountId } = await api.caller(plenty);
  const key = await keyWith(['datasets'], { accountId });
  for (let sent = 0; sent < 2; sent += 1) await ask(api, '/usage', { key });
  const counted = async () => {
    const rows =
      await api.sql`SELECT kind, calls::int FROM key_counts WHERE is_error AND account_id = ${accountId}`;
    return [...rows].map((row) => ({ ...row }));
  };
  await eventually(counted, [{ kind: 'key-limits', calls: 2 }]);
});

test('GET /activity has the rows of the account for the right `activity`, and those of the key for any other', async () => {
  const account = await api.caller({ ...plenty, plan: 'plus' });
  const [own, all] = [await keyWith(['datasets', 'usage'], account), await keyWith(['activity'], account)];
  await ask(api, '/companies', { key: account.key });
  await ask(api, '/companies', { key: own });
  const [mine] =
    await api.sql`SELECT id FROM api_keys WHERE start = ${secretStart(own)} AND account_id = ${account.accountId}`;
  const keysOf = async (key: string) => {
    const { body } = await ask(api, '/activity', { key });
    return [...new Set(body.data.map((row: { key: string }) => row.key))].toSorted();
  };
  await eventually(() => keysOf(account.key), [account.keyId, mine!.id].toSorted());
  expect(await keysOf(all)).toEqual([account.keyId, mine!.id].toSorted());
  expect(await keysOf(own)).toEqual([mine!.id]);
});

test('GET /key says what the holder of a key may know', async () => {
  const expires = new Date(Date.now() + 86_400_000);
  const secret = generateSecret();
  const limits = { budget: { credits: 50, per: 'ever' as const }, only: ['lookup' as const] };
  await createKey(api.sql, caller.accountId, 'colleague', 'test', expires, secret, limits);
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
