/** A call that the rate limit refuses is a result, if its body is short. Everything else that is refused before the body is HTTP. */
import { afterAll, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startApi } from '../support/api.ts';
import { sendRaw } from '../support/client.ts';
import { callMessage, callTool, send } from '../support/mcp.ts';
import { eventually } from '../support/until.ts';

const api = await startApi();
afterAll(() => api.stop());

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

test('it is a result with `isError`, its id, the headers of a 429, and no cost', async () => {
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

test('it is logged and counted as the 429 that it is', async () => {
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

test('a client of the protocol shows it to its model', async () => {
  const { key } = await api.caller({ limits: { requestsPerMinute: 3 } });
  const client = new Client({ name: 'agent', version: '1' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${api.baseUrl}/mcp`), { requestInit }));
  let text = '';
  for (let call = 0; call < 4 && !text.startsWith('Too many'); call += 1) {
    const { content } = await client.callTool({ name: 'get_usage', arguments: {} });
    text = (content as { text: string }[])[0]!.text;
  }
  expect(text).toStartWith('Too many requests.');
  await client.close();
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
  const head = ['POST /mcp HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`, 'Connection: close'];
  for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`);
  const chunked = await sendRaw(
    api,
    `${head.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  );
  expect(chunked).toStartWith('HTTP/1.1 429');
  const silent = await sendRaw(api, `${head.join('\r\n')}\r\nContent-Length: 100\r\n\r\n{`);
  expect(silent).toStartWith('HTTP/1.1 429');
});
