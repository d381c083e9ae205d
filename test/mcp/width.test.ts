/** The bounds of what a message makes the service read and answer (docs/mcp.md). */
import { afterAll, expect, test } from 'bun:test';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client';
import { DEFINITIONS } from '../../src/mcp/tools.ts';
import { PLENTY, startApi } from '../support/api.ts';
import { csv, nif } from '../support/companies.ts';
import { META, REVISION, send } from '../support/mcp.ts';
import { nifPtFound } from '../support/provider.ts';

const MAX_ANSWER_BYTES = 2048;

const api = await startApi({ directory: csv(1, 4) });
api.provider.answer(nif(1), nifPtFound(nif(1)));
const { key } = await api.caller(PLENTY);
afterAll(() => api.stop());

const request = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });
const initialize = (changed: object) =>
  request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'x', version: '1' },
    ...changed,
  });
const inOf = (input: unknown, name = 'get_usage') => request('tools/call', { name, arguments: input });
const listed = (changed: object) => request('tools/list', { _meta: { ...META, ...changed } });

const items = (count: number): unknown[] => Array(count).fill(1);
const members = (count: number) => Object.fromEntries(items(count).map((one, at) => [`m${at}`, one]));
const icons = (count: number) => ({ name: 'x', version: '1', icons: items(count) });

interface Message {
  jsonrpc: string;
  method?: string;
  params?: unknown;
}

/** Messages of which one part has a count of values that are not valid there. */
const SHAPES: Record<string, (count: number) => Message> = {
  icons: (count) => initialize({ clientInfo: icons(count) }),
  'icons without members': (count) =>
    initialize({ clientInfo: { name: 'x', version: '1', icons: Array(count).fill({}) } }),
  experimental: (count) => initialize({ capabilities: { experimental: members(count) } }),
  extensions: (count) => initialize({ capabilities: { extensions: members(count) } }),
  capabilities: (count) => initialize({ capabilities: members(count) }),
  'a list of capabilities': (count) => initialize({ capabilities: items(count) }),
  'lists in lists': (count) => initialize({ capabilities: { roots: [[items(count)]] } }),
  _meta: (count) => request('tools/call', { name: 'get_usage', _meta: members(count) }),
  arguments: (count) => inOf(members(count)),
  'a list of arguments': (count) => inOf(items(count)),
  'a member of arguments': (count) => inOf({ q: members(count) }, 'search_companies'),
  'lists of arguments elsewhere': (count) => initialize({ arguments: items(count) }),
  params: (count) => request('ping', members(count)),
  'a list of params': (count) => request('tools/call', items(count)),
  'the name of a tool': (count) => request('tools/call', { name: items(count) }),
  'a cursor': (count) => request('tools/list', { cursor: items(count) }),
  'an unknown method': (count) => request('no/such', members(count)),
  'a notification': (count) => ({
    jsonrpc: '2.0',
    method: 'notifications/initialized',
    params: members(count),
  }),
  'a notification of progress': (count) => ({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: items(count), progress: items(count) },
  }),
  'a result': (count) => ({ jsonrpc: '2.0', id: 1, result: members(count) }),
  'an error': (count) => ({ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x', data: items(count) } }),
  message: (count) => ({ ...request('ping', {}), ...members(count) }),
  id: (count) => ({ ...request('ping', {}), id: items(count) }),
  'capabilities of the newest revision': (count) =>
    listed({ [CLIENT_CAPABILITIES_META_KEY]: { experimental: members(count) } }),
  'icons of the newest revision': (count) => listed({ [CLIENT_INFO_META_KEY]: icons(count) }),
  'a cursor of the newest revision': (count) => request('tools/list', { _meta: META, cursor: items(count) }),
  'a subscription of the newest revision': (count) =>
    request('subscriptions/listen', { _meta: META, notifications: { resourceSubscriptions: items(count) } }),
};

/** Sends a message with the headers that its revision wants. */
function sendRight(message: Message) {
  const { _meta, name } = (message.params ?? {}) as { _meta?: Record<string, unknown>; name?: string };
  const isNewest = _meta !== undefined && PROTOCOL_VERSION_META_KEY in _meta;
  const headers = {
    'MCP-Protocol-Version': REVISION,
    'Mcp-Method': message.method!,
    ...(name !== undefined && { 'Mcp-Name': name }),
  };
  return send(api, message, { key, headers: isNewest ? headers : {} });
}

/** The bytes of an answer beside its list of tools. */
const bytesOf = (text: string) => (text.startsWith('{"result":{"tools":') ? 0 : Buffer.byteLength(text));

test.each(Object.entries(SHAPES))('a message gets a short answer, wide or not: %s', async (_name, shape) => {
  for (const count of [5, 80, 180]) {
    const response = await sendRight(shape(count));
    expect(response.status).toBeLessThan(500);
    expect(bytesOf(await response.text())).toBeLessThan(MAX_ANSWER_BYTES);
  }
  for (const count of [201, 5500]) {
    const response = await sendRight(shape(count));
    const { error } = (await response.json()) as { error: { message: string } };
    expect([response.status, error.message]).toEqual([400, expect.stringContaining('200 values')]);
    expect(response.headers.has('RateLimit-Remaining')).toBe(true);
  }
});

const LONG = 'x'.repeat(60_000);
test.each(
  Object.entries({
    'a revision': listed({ [PROTOCOL_VERSION_META_KEY]: LONG }),
    'a revision of a handshake': initialize({ protocolVersion: LONG }),
    'a name of a capability': initialize({ capabilities: { experimental: { [LONG]: 1 } } }),
    'a name of a tool': request('tools/call', { name: LONG }),
    'a name of an argument': inOf({ [LONG]: 1, nifs: [] }, 'check_debts'),
    'a method': request(LONG, {}),
  }),
)('a message gets a short answer, however long its texts are: %s', async (_name, message) => {
  const headers = { 'MCP-Protocol-Version': REVISION, 'Mcp-Method': 'tools/list' };
  for (const sent of [{}, headers]) {
    const response = await send(api, message, { key, headers: sent });
    expect(bytesOf(await response.text())).toBeLessThan(MAX_ANSWER_BYTES);
  }
});

test.each(['nifs', 'other'])('a list of 20,000 in the input of a tool is a validation: %s', async (name) => {
  for (const item of [1, {}, []]) {
    const input = { nifs: [nif(1)], [name]: Array(20_000).fill(item) };
    const text = await (await send(api, inOf(input, 'check_debts'), { key })).text();
    expect(JSON.parse(text)).toMatchObject({ result: { structuredContent: { status: 400 } } });
    expect(bytesOf(text)).toBeLessThan(MAX_ANSWER_BYTES);
  }
});

/** What a client can tell of itself: six icons, and every capability. */
const CLIENT_INFO = {
  name: 'agent',
  title: 'Agent',
  version: '1',
  websiteUrl: 'https://agent.example',
  icons: Array(6).fill({
    src: `data:image/png;base64,${'A'.repeat(4000)}`,
    mimeType: 'image/png',
    sizes: ['16x16', '32x32', '48x48'],
    theme: 'dark',
  }),
};
const CAPABILITIES = {
  roots: { listChanged: true },
  sampling: { context: {}, tools: {} },
  elicitation: { form: {}, url: {} },
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
  experimental: Object.fromEntries(items(10).map((_, at) => [`agent.example/${at}`, { enabled: true }])),
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app', 'text/html'] } },
};
const RICH_META = {
  ...META,
  [CLIENT_INFO_META_KEY]: CLIENT_INFO,
  [CLIENT_CAPABILITIES_META_KEY]: CAPABILITIES,
  progressToken: 1,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};

test('a client that tells much of itself is answered', async () => {
  const rich = { capabilities: CAPABILITIES, clientInfo: CLIENT_INFO };
  for (const message of [initialize(rich), request('tools/list', { _meta: RICH_META })])
    expect(await (await sendRight(message)).json()).toHaveProperty('result');
});

const ITEMS: Record<string, unknown[]> = {
  names: ['Empresa 1'],
  nifs: [nif(1)],
  kinds: ['tax', 'social_security'],
};
const TEXTS: Record<string, unknown> = { q: 'empresa', nif: nif(1), after: null };

/** The input of a tool with the longest lists that its schema takes. */
function longestInput({ properties }: Record<string, unknown>): Record<string, unknown> {
  const input = Object.entries(properties as Record<string, { maxItems?: number; type?: string }>).map(
    ([name, { maxItems: most, type }]) => [
      name,
      most === undefined
        ? type === 'boolean' || TEXTS[name]
        : Array.from({ length: most }, (_, at) => ITEMS[name]!.at(at % ITEMS[name]!.length)),
    ],
  );
  return Object.fromEntries(input);
}

test.each(DEFINITIONS)('$name takes its longest lists', async ({ name, inputSchema }) => {
  const input = longestInput(inputSchema);
  expect(Object.values(input)).not.toContain(undefined);
  for (const _meta of [META, RICH_META]) {
    const params = { name, arguments: input, _meta };
    const { result } = (await (await sendRight(request('tools/call', params))).json()) as {
      result: { isError?: true };
    };
    expect([input, result.isError]).toEqual([input, undefined]);
  }
});
