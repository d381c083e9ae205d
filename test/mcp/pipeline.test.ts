/** A call of a tool is one run of the pipeline: recorded, counted and charged as a request of its route. */
import { afterAll, expect, test } from 'bun:test';
import { type Caller, startApi } from '../support/api.ts';
import { linesSince } from '../support/ask.ts';
import { csv, nif } from '../support/companies.ts';
import { callMessage, callTool, WAYS } from '../support/mcp.ts';
import { nifPtFound } from '../support/provider.ts';
import { eventually, until } from '../support/until.ts';

const plenty = { limits: { requestsPerMinute: 100_000 } };
const HELD = nif(7);

const api = await startApi({ directory: csv(1, 4) });
api.provider.answer(nif(1), nifPtFound(nif(1)));
api.provider.answer(HELD, nifPtFound(HELD));
afterAll(() => api.stop());

const PATHS = [`/companies/${nif(1)}`, '/companies/1', `/companies/${nif(2)}`, '/companies?q=x', '/usage'];

/** The lines of an account's requests, without what differs from one to the next. */
function linesOf({ accountId }: Caller) {
  return linesSince(api, 0)
    .filter(({ msg, account }) => msg === 'request' && account === accountId)
    .map(({ level, route, status, key_id, tool = null }) => ({ level, route, status, key_id, tool }));
}

/** Error answers and calls, as the dashboard and the export count them. */
async function statisticsOf({ accountId }: Caller) {
  const errors = await api.sql`
    SELECT kind, sum(calls)::int AS calls FROM key_counts WHERE is_error AND account_id = ${accountId} GROUP BY kind ORDER BY kind`;
  const calls = await api.sql`
    SELECT kind, sum(calls)::int AS calls FROM calls_by_day WHERE account_id = ${accountId} GROUP BY kind ORDER BY kind`;
  return { errors: [...errors], calls: [...calls] };
}

test('log line, ledger and statistics of a call are those of its REST twin, and the line has the tool', async () => {
  const [rest, mcp] = [await api.caller(plenty), await api.caller(plenty)];
  for (const path of PATHS) {
    await WAYS.REST(api, path, rest);
    await WAYS.MCP(api, path, mcp);
  }
  const tools = ['get_company', 'get_company', 'get_company', 'search_companies', 'get_usage'];
  const expected = linesOf(rest).map((line, index) => ({ ...line, key_id: mcp.keyId, tool: tools[index] }));
  await eventually(async () => linesOf(mcp), expected as ReturnType<typeof linesOf>);
  await until('the counts of error answers', async () => (await statisticsOf(mcp)).errors.length > 0);
  const restStatistics = await statisticsOf(rest);
  expect(restStatistics.errors).toHaveLength(1);
  expect(await statisticsOf(mcp)).toEqual(restStatistics);
  expect(await api.ledger(mcp)).toEqual(await api.ledger(rest));
});

test('a charged call says how many credits are left, included and purchased; a free one does not', async () => {
  const { key, accountId } = await api.caller({ ...plenty, included: 3 });
  await api.sql`UPDATE balances SET credits = 2 WHERE account_id = ${accountId}`;
  const left = async (name: string, input: Record<string, unknown>) => {
    const { result } = (await (await callTool(api, name, input, { key })).json()) as {
      result: { _meta: { credits_left?: number } };
    };
    return result._meta.credits_left;
  };
  expect(await left('get_company', { nif: nif(1) })).toBe(4);
  expect(await left('get_companies', { nifs: [nif(1), nif(1)] })).toBe(2);
  expect(await left('get_usage', {})).toBeUndefined();
  // The last of these calls is refused, so it costs nothing and has no `credits_left`.
  expect(await left('get_company', { nif: '1' })).toBe(1);
  expect(await left('get_company', { nif: nif(1) })).toBe(0);
  expect(await left('get_company', { nif: nif(1) })).toBeUndefined();
});

test('metrics count a call under its route, and under its tool', async () => {
  const { key } = await api.caller(plenty);
  const count = async (series: string) => {
    const text = await (await fetch(`${api.baseUrl}/metrics`)).text();
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(series))
        ?.split(' ')[1] ?? 0,
    );
  };
  const SERIES = [
    'http_requests_total{route="/api/v1/datasets",status="200"}',
    'mcp_tool_calls_total{tool="list_datasets"}',
  ];
  const before = await Promise.all(SERIES.map(count));
  await WAYS.MCP(api, '/datasets', { key });
  await eventually(
    () => Promise.all(SERIES.map(count)),
    before.map((calls) => calls + 1),
  );
});

/** Begins the same lookup by either way. */
const BEGIN: Record<
  keyof typeof WAYS,
  (caller: Caller, number: string, signal: AbortSignal) => Promise<unknown>
> = {
  REST: ({ key }, number, signal) =>
    fetch(`${api.url}/companies/${number}`, { headers: { Authorization: `Bearer ${key}` }, signal }),
  MCP: ({ key }, number, signal) => {
    const { headers, body } = callMessage('get_company', { nif: number });
    return fetch(`${api.baseUrl}/mcp`, {
      method: 'POST',
      headers: { ...headers, Authorization: `Bearer ${key}` },
      body,
      signal,
    });
  },
};

test.each(['REST', 'MCP'] as const)(
  'a call that its client abandons while its source is asked is charged (%s)',
  async (way) => {
    const caller = await api.caller(plenty);
    await api.sql`DELETE FROM companies WHERE nif = ${HELD}`;
    const asked = api.provider.requests.length;
    api.provider.hold();
    const client = new AbortController();
    const call = BEGIN[way](caller, HELD, client.signal).catch(() => 'left');
    await api.provider.arrived(asked + 1);
    client.abort();
    expect(await call).toBe('left');
    api.provider.release();
    await until(
      'the record',
      async () => (await api.sql`SELECT 1 FROM companies WHERE nif = ${HELD}`).length === 1,
    );
    await until('the line', async () => linesOf(caller).length === 1);
    expect(linesOf(caller)[0]).toMatchObject({ route: '/api/v1/companies/{nif}', status: 200 });
    await eventually(() => api.ledger(caller), { used: 1, credits: 0 });
  },
);
