/** Clients of the agents' endpoint that know the protocol badly, or use it against the service: bounded, counted, never a 5xx. */
import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { TOOLS } from '../../src/mcp/tools.ts';
import { type Caller, PLENTY, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { csv, nif } from '../support/companies.ts';
import { callTool, META, REVISION, send } from '../support/mcp.ts';

const PER_MINUTE = 6;

const api = await startApi({ directory: csv(1, 4) });
afterAll(() => api.stop());

const newCaller = () => api.caller({ limits: { requestsPerMinute: PER_MINUTE }, included: 10 });

/** Tokens and credits that the account has spent; the look itself is one token and not counted. */
async function spent({ key }: Caller) {
  const { rateLimit, quotas } = (await ask(api, '/usage', { key })).body.data;
  return { tokens: PER_MINUTE - 1 - rateLimit.remaining, credits: quotas.requests.used };
}

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_usage' } };
const modern = (method: string, params = {}) => ({ ...call, method, params: { ...params, _meta: META } });
const modernHeaders = (method: string) => ({ 'MCP-Protocol-Version': REVISION, 'Mcp-Method': method });
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** Each is beside the protocol in its own way. The test of random messages below sends the others that the SDK refuses. */
const MESSAGES: [name: string, status: number, message: unknown, headers?: Record<string, string>][] = [
  ['no body', 400, ''],
  ['no JSON', 400, 'tools/call'],
  ['null', 400, 'null'],
  [
    'a body over 64 KiB',
    400,
    { ...call, params: { name: 'get_usage', arguments: { q: 'x'.repeat(70_000) } } },
  ],
  [
    'a deep body',
    400,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage","arguments":${deep(1000)}}}`,
  ],
  ['an empty batch', 400, []],
  ['a batch of calls', 400, Array.from({ length: 50 }, (_, id) => ({ ...call, id }))],
  ['another content type', 415, call, { 'Content-Type': 'text/plain' }],
  ['a method that does not exist', 200, { ...call, method: 'no/such' }],
  ['a tool that does not exist', 200, { ...call, params: { name: 'drop_table' } }],
  ['a tool named as a member of every object', 200, { ...call, params: { name: '__proto__' } }],
  ['a call without parameters', 200, { ...call, params: undefined }],
  ['a call without an id: a notification', 202, { ...call, id: undefined }],
  ['a new revision in the header alone', 400, call, { 'MCP-Protocol-Version': REVISION }],
  [
    'headers that name another tool',
    400,
    modern('tools/call', { name: 'get_usage' }),
    { ...modernHeaders('tools/call'), 'Mcp-Name': 'get_company' },
  ],
  [
    'a subscription, whose stream would never end',
    200,
    modern('subscriptions/listen', { notifications: { toolsListChanged: true } }),
    modernHeaders('subscriptions/listen'),
  ],
  [
    'a handshake with a revision that does not exist',
    200,
    {
      ...call,
      method: 'initialize',
      params: { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    },
  ],
  [
    'a session that nobody began',
    200,
    { ...call, method: 'tools/list', params: {} },
    { 'Mcp-Session-Id': 'x'.repeat(1000) },
  ],
];

test.each(MESSAGES)('%s: %d, for a token and no credit', async (_name, status, message, headers = {}) => {
  const caller = await newCaller();
  const response = await send(api, message, { key: caller.key, headers });
  const text = await response.text();
  expect([response.status, text]).toEqual([status, expect.anything()]);
  if (text !== '') expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0' });
  expect(
    ['RateLimit-Remaining', 'X-Credits', 'Cache-Control'].map((name) => response.headers.get(name)),
  ).toEqual([String(PER_MINUTE - 1), '0', 'private, no-store']);
  expect(await spent(caller)).toEqual({ tokens: 1, credits: 0 });
});

test('the text of a refused body says what is taken', async () => {
  const { key } = await newCaller();
  const large = { ...call, params: { name: 'check_debts', arguments: { nifs: Array(6000).fill(nif(1)) } } };
  for (const body of ['{', [call, call], large]) {
    const { error } = (await (await send(api, body, { key })).json()) as { error: { message: string } };
    expect(error.message).toMatch(/one message .*64 KiB.* Batches are not taken\./);
  }
});

test('no message, and no input of a tool, is answered with a fault', async () => {
  const { key } = await api.caller(PLENTY);
  const names = ['jsonrpc', 'id', 'method', 'params', 'name', 'arguments', '_meta', 'q', 'nif', 'nifs'];
  const members = fc.constantFrom(...names);
  const message = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(
      members,
      fc.oneof(fc.jsonValue(), fc.constantFrom('2.0', 1, 'tools/call', 'tools/list', 'ping')),
    ),
    fc.jsonValue().map((params) => ({ ...call, params })),
  );
  const input = fc.dictionary(members, fc.jsonValue());
  const tool = fc.constantFrom(...([...TOOLS.keys()] as string[]));
  await fc.assert(
    fc.asyncProperty(message, tool, input, async (message, name, input) => {
      const answers = [await send(api, message, { key }), await callTool(api, name, input, { key })];
      for (const answer of answers) expect(answer.status).toBeLessThan(500);
      const { result } = (await answers[1]!.json()) as { result: { structuredContent: { status?: number } } };
      expect(result.structuredContent.status ?? 200).not.toBe(500);
    }),
    { numRuns: 100 },
  );
});

/** Inputs as an address must not take them; agent.test.ts has what a model gets wrong. */
const INPUTS: [tool: string, input: Record<string, unknown>][] = [
  ['search_companies', { q: { $ne: '' } }],
  ...['..', '../metering/usage', `${nif(1)}?q=x`, '%2e%2e', '\uD800', 'x'.repeat(20_000)].map(
    (text): [string, Record<string, unknown>] => ['get_company', { nif: text }],
  ),
];
test.each(INPUTS)('%s with %j: a validation that costs what it costs over REST', async (tool, input) => {
  const caller = await newCaller();
  const response = await callTool(api, tool, input, { key: caller.key });
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { result: { isError: true, structuredContent: { status: 400, title: 'The request is not valid' } } },
  ]);
  expect(await spent(caller)).toEqual({ tokens: 1, credits: 1 });
});

test('a NIF as a number and members that the route lacks do no harm', async () => {
  const { key } = await newCaller();
  const input = { q: 'empresa', limit: 1000, __proto__: { q: 'x' }, nif: 1 };
  const response = await callTool(api, 'search_companies', input, { key });
  expect((await response.json()) as unknown).toMatchObject({
    result: { structuredContent: { data: { length: 3 } } },
  });
});

test('a flood of notifications takes a token each, and is refused when they are used up', async () => {
  const caller = await newCaller();
  const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => send(api, message, { key: caller.key })),
  );
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([...Array(PER_MINUTE).fill(202), ...Array(50 - PER_MINUTE).fill(429)]);
  expect((await api.ledger(caller)).used).toBe(0);
});

describe('without a run of the pipeline, and so for nothing:', () => {
  test.each(['https://evil.example', 'null', 'http://127.0.0.1.evil.example', 'nonsense'])(
    'the foreign origin %s is a 403',
    async (origin) => {
      const caller = await newCaller();
      const response = await callTool(api, 'get_usage', {}, { key: caller.key, headers: { Origin: origin } });
      expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('other hosts')]);
      expect(await spent(caller)).toEqual({ tokens: 0, credits: 0 });
    },
  );

  test('the own origin, and none, are answered', async () => {
    const { key } = await newCaller();
    const own = { Origin: api.baseUrl };
    for (const headers of [own, {}]) {
      expect((await callTool(api, 'get_usage', {}, { key, headers })).status).toBe(200);
    }
  });

  test.each(['GET', 'DELETE', 'HEAD', 'PUT', 'OPTIONS'])('%s is a 405 with `Allow: POST`', async (method) => {
    const caller = await newCaller();
    const headers = { Authorization: `Bearer ${caller.key}`, Accept: 'text/event-stream' };
    const response = await fetch(`${api.baseUrl}/mcp`, { method, headers });
    expect([response.status, response.headers.get('Allow')]).toEqual([405, 'POST']);
    expect(await spent(caller)).toEqual({ tokens: 0, credits: 0 });
  });
});
