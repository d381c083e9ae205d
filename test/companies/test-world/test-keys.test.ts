/** With a test key every endpoint answers from the world, and gives every documented problem, for nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { isValidNif } from '../../../src/companies/nif.ts';
import { calledUpBy, WORLD } from '../../../src/companies/test-world/world.ts';
import type { ApiRoute } from '../../../src/http/api-route.ts';
import { PROBLEMS, type ProblemName } from '../../../src/http/problems.ts';
import { purgeActivity } from '../../../src/metering/activity/activity-store.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import type { KeyLimits } from '../../../src/metering/keys/limits.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { API_ROUTES } from '../../../src/service/endpoints.ts';
import { type Api, type Caller, startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import type { CallAnswer } from '../../support/client.ts';
import { nif } from '../../support/companies.ts';
import { callTool, toolOf } from '../../support/mcp.ts';
import { createTestKey } from '../../support/service.ts';
import { eventually } from '../../support/until.ts';
import { CASES, hasTool, NAMES, nifOf, post, requestFor } from './requests.ts';

let api: Api;
let caller: Caller;
let key: string;

beforeAll(async () => {
  const rows = NAMES.map(([nif, name]) => `${nif},"${name}"\n`);
  const directory = `nif,legal_name\n${rows.join('')}`;
  api = await startApi({ proxied: ['postgres'], directory, env: { BUY_URL: 'https://shop.example/buy' } });
  ({ caller, key } = await testCaller());
});
afterAll(() => api.stop());

/** An account with a test key, and no credit. */
async function testCaller() {
  const caller = await api.caller({ limits: { requestsPerMinute: 6000 }, included: 0 });
  return { caller, key: await createTestKey(api.sql, caller.accountId) };
}

/** A text that says that a credit was spent. */
const CLAIM = /\b(?:has|have) cost (?!nothing)|(?<!Nothing|No credit) was charged/;

const headersOf = ({ headers }: CallAnswer) =>
  [...headers.keys()].filter((name) => name !== 'x-test-key').toSorted();
/** The answer of each case: a problem that the test key calls up. It is asked for once. */
const answers = new Map<string, Promise<CallAnswer>>();
function atWill(name: string, kind: ProblemName, route: ApiRoute): Promise<CallAnswer> {
  const [path, options] = requestFor(route, kind);
  // No request with a test key is `unauthorized`.
  const asking = () => ask(api, path, { ...options, key: kind === 'unauthorized' ? generateSecret() : key });
  return answers.getOrInsertComputed(`${name} ${kind}`, asking);
}

test.each(CASES)(
  '%s answers %s at will, and does not say that it has cost a credit',
  async (name, kind, route) => {
    const answer = await atWill(name, kind, route);
    expect([answer.status, answer.kind]).toEqual([PROBLEMS[kind].status, kind]);
    if (kind === 'unauthorized') return;
    expect(answer.headers.get('x-test-key')).toBe('true');
    if (kind === 'rate-limit-exceeded') expect(answer.headers.get('ratelimit-remaining')).toBe('0');
    if (kind === 'service-unavailable') expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    if (kind === 'monthly-quota-exceeded') expect(answer.body.buy).toStartWith('https://shop.example/buy');
    expect(JSON.stringify(answer.body)).not.toMatch(CLAIM);
    if (!hasTool(route)) return;
    const [path, options] = requestFor(route, kind);
    const told = await (await callTool(api, ...toolOf(path, options.body as string), { key })).text();
    expect(told).not.toMatch(CLAIM);
  },
);

test('a problem that comes before the body is one over HTTP at a tool, too, except a short call over the rate; any other is a result', async () => {
  for (const { kind, nif } of WORLD.problems) {
    const answer = await callTool(api, 'get_company', { nif }, { key });
    const isOfHttp = kind === 'authentication-failed';
    expect([kind, answer.status]).toEqual([kind, isOfHttp ? PROBLEMS[kind as ProblemName].status : 200]);
    const body = (await answer.json()) as { type?: string; result?: object };
    if (isOfHttp) expect(body.type).toEndWith(`/problems/${kind}`);
    else expect(body.result).toBeDefined();
  }
  const nif = nifOf('rate-limit-exceeded').padEnd(4096);
  expect((await callTool(api, 'get_company', { nif }, { key })).status).toBe(429);
});

test('the text of a tool says of a charged problem that it has cost its credit, and not of its repetition', async () => {
  const { key } = await api.caller();
  const text = async () => {
    const headers = { 'Idempotency-Key': 'once' };
    return (await callTool(api, 'get_company', { nif: '123456780' }, { key, headers })).text();
  };
  expect(await text()).toMatch(CLAIM);
  expect(await text()).not.toMatch(CLAIM);
});

test('a NIF calls up its problem in each form that an endpoint takes', async () => {
  const nif = nifOf('rate-limit-exceeded');
  const spaced = `${nif.slice(0, 3)} ${nif.slice(3, 6)}.${nif.slice(6)}`;
  const refused = [
    await ask(api, `/companies/${encodeURIComponent(spaced)}`, { key }),
    await ask(api, `/matches?q=${encodeURIComponent(spaced)}`, { key }),
    await ask(api, '/lookups', { ...post({ nifs: [NAMES[0]![0], Number(nif)] }), key }),
  ];
  expect(refused.map(({ kind }) => kind)).toEqual(Array(3).fill('rate-limit-exceeded'));
  const unread = [
    post({ nifs: 'x' }),
    post([[]]),
    { ...post({}), headers: { 'Content-Type': 'text/plain' } },
  ];
  for (const options of unread)
    expect((await ask(api, '/lookups', { ...options, key })).kind).toBe('validation');
  expect((await ask(api, '/companies/%E0%A4%A', { key })).kind).toBe('validation');
});

test('items of lists have their problems in their place, and the credits end where it is asked for', async () => {
  const [good] = NAMES[0]!;
  const statuses = ({ body }: CallAnswer) => body.data.map(({ status }: { status: number }) => status);
  const quota = nifOf('monthly-quota-exceeded');
  const kinds = ['company-not-found', 'company-lookup-failed', 'service-unavailable'].map(nifOf);
  const lookups = post({ nifs: [good, ...kinds, '123456780', quota, good] });
  expect(statuses(await ask(api, '/lookups', { ...lookups, key }))).toEqual([
    200, 404, 502, 503, 400, 429, 429,
  ]);
  const names = ['padaria', 'search-failed', 'service-unavailable', ' ', 'monthly-quota-exceeded', 'padaria'];
  const resolutions = await ask(api, '/resolutions', { ...post({ names }), key });
  expect(statuses(resolutions)).toEqual([200, 500, 503, 400, 429, 429]);
  const debts = await ask(api, '/debts', { ...post({ nifs: [good, '123456780', quota, good] }), key });
  expect(statuses(debts)).toEqual([200, 400, 429, 429]);
  expect(debts.body.data.at(-1).problem.buy).toStartWith('https://shop.example/buy');
  const changes = await ask(api, '/debts/changes', {
    ...post({ after: null, nifs: [NAMES[1]![0], quota] }),
    key,
  });
  expect([changes.body.data.length, changes.body.more]).toEqual([1, true]);
});

test('searches and matches find in the world what a real key finds in a directory of the same names', async () => {
  const real = await api.caller({ limits: { requestsPerMinute: 6000 }, included: 10_000 });
  const words = new Set(NAMES.flatMap(([nif, name]) => [nif, name, ...name.split(' '), name.slice(0, 6)]));
  const queries = [...words, 'padaria abaco', 'norte constr', 'nada', '!'].filter((q) => q.trim() !== '');
  for (const path of ['/companies', '/matches']) {
    for (const q of queries) {
      const address = `${path}?q=${encodeURIComponent(q)}`;
      const [one, other] = await Promise.all([real.key, key].map((key) => ask(api, address, { key })));
      expect([q, other!.body]).toEqual([q, one!.body]);
    }
  }
});

test('lookups, debts and datasets are about the same world', async () => {
  const { body: datasets } = await ask(api, '/datasets', { key });
  expect(datasets.data.directory.companies).toBe(NAMES.length);
  const sources = new Set<string | null>();
  const debtors = { tax: 0, social_security: 0 };
  for (const [nif, name] of NAMES.filter(([nif]) => nif !== nifOf('slow-answer'))) {
    const { body, headers } = await ask(api, `/companies/${nif}`, { key });
    expect([body.data.nif, body.data.title]).toEqual([Number(nif), name]);
    sources.add(headers.get('x-record-source'));
    const screened = await ask(api, '/debts', { ...post({ nifs: [nif] }), key });
    const { tax_debt, social_security_debt } = body.data;
    expect(screened.body.data[0].debts).toEqual({ tax_debt, social_security_debt });
    if (tax_debt !== null) debtors.tax += 1;
    if (social_security_debt !== null) debtors.social_security += 1;
  }
  expect([...sources].toSorted()).toEqual(['einforma', 'nif.pt', 'vies']);
  expect(debtors).toEqual({
    tax: datasets.data.debts.tax.companies,
    social_security: datasets.data.debts.social_security.companies,
  });
});

test('the feed has several pages, each change once and in order', async () => {
  const ids: string[] = [];
  let pages = 0;
  for (let after: string | null = null, more = true; more; pages += 1) {
    const { body } = await ask(api, '/debts/changes', { ...post({ after }), key });
    ids.push(...body.data.map(({ id }: { id: string }) => id));
    ({ next: after, more } = body);
  }
  expect(pages).toBeGreaterThan(2);
  const numbers = WORLD.imports.flatMap(({ first, changes }) => changes.map((_, index) => first + index));
  expect(ids).toEqual(numbers.map((number) => `chg_${number}`));
});

test('a slow answer takes three seconds', async () => {
  const startedAt = performance.now();
  const { status, body } = await ask(api, `/companies/${nifOf('slow-answer')}`, { key });
  expect([status, body.data.title]).toEqual([200, 'Resposta Lenta, Lda']);
  expect(performance.now() - startedAt).toBeGreaterThan(2900);
});

describe('nothing of the account but tokens, and nothing of the service', () => {
  test('no source is asked, no credit, call or error is counted, and usage is the account’s own', async () => {
    expect(api.provider.requests).toEqual([]);
    const { body } = await ask(api, '/usage', { key });
    expect(body.data.quotas).toEqual({
      requests: { used: 0, limit: 0, unit: 'calls' },
      apiKeys: { used: 1, limit: 2, unit: 'keys' },
    });
    const { accountId } = caller;
    expect(await api.sql`SELECT 1 FROM calls_by_day WHERE account_id = ${accountId}`).toHaveLength(0);
    const refused = await ask(api, '/companies?q=a', { key: caller.key });
    expect(refused.kind).toBe('monthly-quota-exceeded');
  });

  test('the log has no warning and no error, and says `test`; requests by route are not counted', async () => {
    for (const one of CASES) await atWill(...one);
    const lines = api.logLines.filter(({ key_id, test }) => key_id !== undefined && test === true);
    expect(lines.length).toBeGreaterThan(CASES.length - API_ROUTES.length - 1);
    expect(lines.filter(({ level, error }) => Number(level) > 30 || error !== undefined)).toEqual([]);
    expect(api.logLines.filter(({ level }) => Number(level) > 30).map(({ msg }) => msg)).not.toContain(
      'request',
    );
    const metrics = await (await fetch(`${api.baseUrl}/metrics`)).text();
    expect(metrics).toContain(`http_test_requests_total ${lines.length}`);
    const counted = [...metrics.matchAll(/^http_requests_total\{route="(.*)",status="(.*)"\} ([1-9]\d*)/gm)];
    expect(counted.filter(([, , status]) => status!.startsWith('5'))).toEqual([]);
  });
});

test('every NIF of the world is valid, begins with 5999, and is no other one', () => {
  const nifs = [...NAMES.map(([nif]) => nif), ...WORLD.problems.map(({ nif }) => nif)];
  expect(nifs.filter((nif) => !isValidNif(nif) || !nif.startsWith('5999'))).toEqual([]);
  // The slow answer is about a company.
  expect(new Set(nifs).size).toBe(nifs.length - 1);
});

test('no company’s name calls up a problem', () => {
  expect(NAMES.filter(([, name]) => calledUpBy(name) !== undefined)).toEqual([]);
});

test('the debts of the companies are what the feed leaves', () => {
  const left = new Map(WORLD.companies.map(({ nif }) => [nif, {} as Record<string, unknown>]));
  const dates = new Map(WORLD.imports.map(({ kind, date }) => [kind, date]));
  for (const { kind, changes } of WORLD.imports) {
    for (const [nif, before, after] of changes) {
      const { [kind]: bracket, ...others } = left.get(nif)!;
      expect([nif, bracket ?? null]).toEqual([nif, before && { ...before, last_updated: dates.get(kind)! }]);
      left.set(
        nif,
        after === null ? others : { ...others, [kind]: { ...after, last_updated: dates.get(kind)! } },
      );
    }
  }
  expect(WORLD.companies.map(({ nif, debts }) => [nif, { ...debts }])).toEqual([...left]);
});

const newCaller = (options = {}) => api.caller({ limits: { requestsPerMinute: 6000 }, ...options });

/** Asks with a new key between both statements. */
async function whileBroken(breaking: string, mending: string, path: string): Promise<CallAnswer> {
  const { key } = await newCaller();
  // An earlier one may have taken Postgres away.
  await eventually(async () => (await ask(api, '/datasets', { key })).status, 200);
  await api.sql.unsafe(breaking);
  return ask(api, path, { key }).finally(() => api.sql.unsafe(mending));
}

/** Asks with a key that has limits. */
async function askLimited(limits: Partial<KeyLimits>): Promise<CallAnswer> {
  const { accountId } = await newCaller();
  const key = generateSecret();
  await createKey(api.sql, accountId, '', 'test', null, key, limits);
  return ask(api, '/companies?q=a', { key });
}

/** How a key that is no test key gets each problem. */
const REAL: { [kind in ProblemName]?: () => Promise<CallAnswer> } = {
  validation: async () => ask(api, '/companies', { key: (await newCaller()).key }),
  'company-not-found': async () => ask(api, `/companies/${nif(1)}`, { key: (await newCaller()).key }),
  'company-lookup-failed': async () => {
    api.provider.answer(nif(2), { result: 'surprise' });
    return ask(api, `/companies/${nif(2)}`, { key: (await newCaller()).key });
  },
  'changes-expired': async () => {
    await api.sql`UPDATE debt_change_numbers SET last = 10, purged = 10`;
    return ask(api, '/debts/changes', { ...post({ after: 'chg_1' }), key: (await newCaller()).key });
  },
  'activity-expired': async () => {
    await purgeActivity(api.sql, 1);
    return ask(api, '/activity?after=act_1', { key: (await newCaller()).key });
  },
  'rate-limit-exceeded': async () => {
    const { key } = await newCaller({ limits: { requestsPerMinute: 1 } });
    await ask(api, '/usage', { key });
    return ask(api, '/usage', { key });
  },
  'monthly-quota-exceeded': async () =>
    ask(api, '/companies?q=a', { key: (await newCaller({ included: 0 })).key }),
  'key-budget-exceeded': () => askLimited({ budget: { credits: 0, per: 'day' }, only: null }),
  'key-budget-spent': () => askLimited({ budget: { credits: 0, per: 'ever' }, only: null }),
  'not-permitted': () => askLimited({ budget: null, only: ['usage'] }),
  'authentication-failed': () => {
    api.proxies.postgres.down();
    return ask(api, '/usage', { key: generateSecret() }).finally(api.proxies.postgres.up);
  },
  'service-unavailable': () =>
    whileBroken(
      'ALTER TABLE debt_datasets RENAME TO hidden',
      'ALTER TABLE hidden RENAME TO debt_datasets',
      '/datasets',
    ),
  'search-failed': async () => {
    const [row] = await api.sql`
      SELECT table_name AS name FROM directory_generations WHERE id = (SELECT current FROM directory)`;
    const { name } = row!;
    const mending = `ALTER TABLE hidden RENAME TO ${name}`;
    return whileBroken(`ALTER TABLE ${name} RENAME TO hidden`, mending, '/companies?q=unasked');
  },
  // A date that the program does not expect there.
  'internal-error': () =>
    whileBroken(
      `UPDATE directory_generations SET loaded_at = 'infinity'`,
      'UPDATE directory_generations SET loaded_at = NULL',
      '/datasets',
    ),
};

test.each([...new Set(CASES.map(([, kind]) => kind))].filter((kind) => kind !== 'unauthorized'))(
  '%s at will has the headers of the real one',
  async (kind) => {
    const meet = REAL[kind];
    if (meet === undefined) throw new Error(`REAL has no request of a real key that meets ${kind}`);
    const real = await meet();
    expect(real.kind).toBe(kind);
    for (const one of CASES.filter(([, of]) => of === kind))
      expect([one[0], headersOf(await atWill(...one))]).toEqual([one[0], headersOf(real)]);
  },
);
