/** A call of a tool is one run of the pipeline: recorded, counted, charged and refused as a request of its route. */
import { afterAll, expect, test } from 'bun:test';
import { post } from '../companies/test-world/requests.ts';
import { type Caller, startApi } from '../support/api.ts';
import { linesSince } from '../support/ask.ts';
import { requestText, sendRaw, sendText } from '../support/client.ts';
import { csv, nif } from '../support/companies.ts';
import { callMessage, callTool, resultOf, send, WAYS } from '../support/mcp.ts';
import { readMetrics } from '../support/metrics.ts';
import { nifPtFound } from '../support/provider.ts';
import { createTestKey } from '../support/service.ts';
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
  return { errors: errors.map((row) => ({ ...row })), calls: calls.map((row) => ({ ...row })) };
}

/** Requests of a route, and calls of its tool. */
const SERIES = [
  'http_requests_total{route="/api/v1/usage",status="200"}',
  'mcp_tool_calls_total{tool="get_usage"}',
];

test('log line, ledger and statistics of a call are those of its REST twin, and line and metrics have the tool', async () => {
  const [rest, mcp] = [await api.caller(plenty), await api.caller(plenty)];
  const before = await readMetrics(api);
  for (const path of PATHS) {
    await WAYS.REST(api, path, rest);
    await WAYS.MCP(api, path, mcp);
  }
  const counted = async () => {
    const metrics = await readMetrics(api);
    return SERIES.map((series) => metrics[series]! - before[series]!);
  };
  await eventually(counted, [2, 1]);
  const tools = ['get_company', 'get_company', 'get_company', 'search_companies', 'get_usage'];
  const expected = linesOf(rest).map((line, index) => ({ ...line, key_id: mcp.keyId, tool: tools[index] }));
  await eventually(async () => linesOf(mcp), expected as ReturnType<typeof linesOf>);
  // Error answers are written every few seconds, so that one may be there before the other.
  const counts = (of: Record<string, number>) => Object.entries(of).map(([kind, calls]) => ({ kind, calls }));
  const statistics = { errors: counts({ '4xx': 2 }), calls: counts({ lookup: 3, search: 1 }) };
  await eventually(() => statisticsOf(mcp), statistics);
  expect(await statisticsOf(rest)).toEqual(statistics);
  expect(await api.ledger(mcp)).toEqual(await api.ledger(rest));
});

test('the handler gets the whole input of a tool: each member changes the answer as in a body', async () => {
  const { accountId } = await api.caller(plenty);
  const key = await createTestKey(api.sql, accountId);
  for (const [path, body] of [
    ['/resolutions', { names: ['padaria', 'Padaria Ábaco & Filhos'], clear_only: true }],
    ['/debts/changes', { after: null, nifs: ['599910054'], kinds: ['tax'] }],
  ] as const) {
    const answers = await Promise.all(
      Object.values(WAYS).map((ask) => ask(api, path, { ...post(body), key })),
    );
    expect(answers[1]!.body).toEqual(answers[0]!.body);
  }
});

test('a charged call says how many credits are left, included and purchased; a free one does not', async () => {
  const { key, accountId } = await api.caller({ ...plenty, included: 3 });
  await api.sql`UPDATE balances SET credits = 2 WHERE account_id = ${accountId}`;
  const left = async (name: string, input: Record<string, unknown>) =>
    (await resultOf(api, name, input, { key }))._meta.credits_left;
  expect(await left('get_company', { nif: nif(1) })).toBe(4);
  expect(await left('get_companies', { nifs: [nif(1), nif(1)] })).toBe(2);
  expect(await left('get_usage', {})).toBeUndefined();
  // The last of these calls is refused, so it costs nothing and has no `credits_left`.
  expect(await left('get_company', { nif: '1' })).toBe(1);
  expect(await left('get_company', { nif: nif(1) })).toBe(0);
  expect(await left('get_company', { nif: nif(1) })).toBeUndefined();
});

/** The same lookup by either way. */
const LOOKUP: Record<keyof typeof WAYS, (caller: Caller) => string> = {
  REST: ({ key }) => requestText(`GET /api/v1/companies/${HELD}`, { Authorization: `Bearer ${key}` }),
  MCP: ({ key }) => {
    const { headers, body } = callMessage('get_company', { nif: HELD });
    const sent = { ...headers, Authorization: `Bearer ${key}`, 'Content-Length': body.length };
    return requestText('POST /mcp', sent, body);
  },
};

test.each(['REST', 'MCP'] as const)(
  'a call that its client abandons while its source is asked is charged (%s)',
  async (way) => {
    const caller = await api.caller(plenty);
    await api.sql`DELETE FROM companies WHERE nif = ${HELD}`;
    const asked = api.provider.requests.length;
    api.provider.hold();
    const { socket, closed } = await sendText(api.baseUrl, LOOKUP[way](caller));
    await api.provider.arrived(asked + 1);
    socket.destroy();
    expect(await closed).toBe('');
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

// A call that the rate limit refuses is a result, if its body is short. All else that is refused before the body is HTTP.

/** A caller whose bucket is empty. */
async function limited() {
  const caller = await api.caller({ limits: { requestsPerMinute: 1 } });
  await send(api, { jsonrpc: '2.0', id: 1, method: 'ping' }, caller);
  return caller;
}

const KIB = 1024;
const padded = (message: object, bytes: number) => {
  const text = JSON.stringify(message);
  return text + ' '.repeat(bytes - text.length);
};
const CALL = {
  jsonrpc: '2.0',
  id: 'call-7',
  method: 'tools/call',
  params: { name: 'get_usage', arguments: {} },
};

test('a call over the rate is a result with `isError`, its id, the headers of a 429, and no cost', async () => {
  const caller = await limited();
  const response = await callTool(api, 'search_companies', { q: 'padaria' }, caller);
  expect(response.status).toBe(200);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  for (const [name, value] of [
    ['ratelimit-limit', '1'],
    ['ratelimit-remaining', '0'],
    ['x-credits', '0'],
    ['content-type', 'application/json'],
    ['cache-control', 'private, no-store'],
  ])
    expect([name, response.headers.get(name!)]).toEqual([name!, value!]);
  expect(await response.json()).toEqual({
    jsonrpc: '2.0',
    id: 'call-1',
    result: {
      _meta: { credits: 0 },
      content: [
        { type: 'text', text: expect.stringMatching(/^Too many requests\..*Wait \d+ s, then call again\./) },
      ],
      structuredContent: expect.objectContaining({
        type: `${api.baseUrl}/problems/rate-limit-exceeded`,
        status: 429,
      }),
      isError: true,
      resultType: 'complete',
    },
  });
  expect((await api.ledger(caller)).used).toBe(0);
});

test('a call over the rate is logged and counted as the 429 that it is', async () => {
  const caller = await limited();
  await callTool(api, 'get_usage', {}, caller);
  const line = () => api.logLines.findLast(({ account }) => account === caller.accountId);
  await eventually(async () => [line()?.route, line()?.status], ['/mcp', 429]);
  const errors = () =>
    api.sql`SELECT kind, calls::int FROM key_counts WHERE is_error AND account_id = ${caller.accountId}`;
  await eventually(
    async () => [...(await errors())].map((row) => ({ ...row })),
    [{ kind: 'rate-limit-exceeded', calls: 1 }],
  );
});

test.each([
  ['a call of 4 KiB', padded(CALL, 4 * KIB), 200],
  ['a call of a byte more', padded(CALL, 4 * KIB + 1), 429],
  ['another message', JSON.stringify({ ...CALL, method: 'tools/list' }), 429],
  ['a notification', JSON.stringify({ ...CALL, id: undefined }), 429],
  ['an id that is none', JSON.stringify({ ...CALL, id: { a: 1 } }), 429],
  ['a batch', JSON.stringify([CALL]), 429],
  ['no JSON', '{', 429],
])('%s over the rate is a %#', async (_name, body, status) => {
  const caller = await limited();
  const response = await send(api, body, caller);
  expect([response.status, response.headers.get('x-credits')]).toEqual([status, '0']);
  const { type, id } = (await response.json()) as { type?: string; id?: unknown };
  if (status === 429) expect(type).toEndWith('/problems/rate-limit-exceeded');
  else expect(id).toBe('call-7');
});

test('a call in chunks has no known length, and one that never arrives is given up', async () => {
  const { key } = await limited();
  const { headers, body } = callMessage('get_usage', {});
  const send = (length: Record<string, string>, text: string) =>
    sendRaw(api, requestText('POST /mcp', { ...headers, Authorization: `Bearer ${key}`, ...length }, text));
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  expect(await send({ 'Transfer-Encoding': 'chunked' }, chunk)).toStartWith('HTTP/1.1 429');
  expect(await send({ 'Content-Length': '100' }, '{')).toStartWith('HTTP/1.1 429');
});
