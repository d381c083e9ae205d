/**
 * The service reads and answers calls without the SDK, which takes three times the CPU of a lookup. Here a server of the SDK gets the
 * same messages: both take the same messages for calls, and give the same results.
 */
import { expect, test } from 'bun:test';
import {
  createMcpHandler,
  isLegacyRequest,
  Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Answer } from '../../src/http/answer.ts';
import { callOf, SERVER, writeResult } from '../../src/mcp/call.ts';
import { TOOLS } from '../../src/mcp/tools.ts';
import { META, REVISION } from '../support/mcp.ts';

const BODY = { data: [{ legal_name: 'Ábaco "& Filhos" \u2028', nif: '500002576' }], error: null };
const ANSWERS: Record<'found' | 'refused', Answer> = {
  found: { ok: true, json: JSON.stringify(BODY) },
  refused: { ok: false, problem: { kind: 'rate-limit-exceeded', headers: { 'Retry-After': '12' } } },
};
const PUBLIC_URL = 'http://service';

function createServer(): Server {
  const server = new Server(SERVER, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/call', ({ params }) => {
    if (!TOOLS.has(params.name)) throw new Error('no such tool');
    const answer = ANSWERS[params.name === 'get_usage' ? 'refused' : 'found'];
    const written = { id: 0, tool: TOOLS.get(params.name)!, input: {}, isModern: false };
    return JSON.parse(writeResult(written, answer, PUBLIC_URL, null)).result;
  });
  return server;
}

/** What the SDK answers; `null` if it refuses the message. */
async function bySdk(message: unknown, headers: Headers): Promise<unknown> {
  const request = new Request('http://service/mcp', { method: 'POST', headers });
  const response = (await isLegacyRequest(request, message))
    ? await answerLegacy(request, message)
    : await createMcpHandler(createServer, { legacy: 'reject' }).fetch(request, { parsedBody: message });
  const answer = response.status === 202 ? {} : ((await response.json()) as { result?: unknown });
  return answer.result === undefined ? null : answer;
}

async function answerLegacy(request: Request, message: unknown): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await createServer().connect(transport);
  return transport.handleRequest(request, { parsedBody: message });
}

/** What is answered here; `null` if the message goes to the SDK. */
function byUs(message: unknown, headers: Headers): unknown {
  const call = callOf(message, headers);
  if (call === null) return null;
  const answer = ANSWERS[call.tool.name === 'get_usage' ? 'refused' : 'found'];
  return JSON.parse(writeResult(call, answer, PUBLIC_URL, null));
}

const params = { name: 'get_company', arguments: { nif: '500002576' } };
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
const modern = { ...call, params: { ...params, _meta: META } };
const MODERN = { 'MCP-Protocol-Version': REVISION, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'get_company' };
const withMeta = (more: object) => ({ ...modern, params: { ...modern.params, _meta: { ...META, ...more } } });

const MESSAGES: [name: string, message: unknown, headers?: Record<string, string>][] = [
  ['a call of 2026', modern, MODERN],
  [
    'one that is refused',
    { ...modern, params: { ...modern.params, name: 'get_usage' } },
    { ...MODERN, 'Mcp-Name': 'get_usage' },
  ],
  ['one with a text as id', { ...modern, id: 'a "b"' }, MODERN],
  ['one with the id 0', { ...modern, id: 0 }, MODERN],
  ['one without input', { ...modern, params: { name: 'get_company', _meta: META } }, MODERN],
  ['one that asks for progress', withMeta({ progressToken: 7 }), MODERN],
  ['one with further metadata', withMeta({ 'example.com/trace': { a: 1 } }), MODERN],
  [
    'one with a client',
    withMeta({ 'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' } }),
    MODERN,
  ],
  ['one without a method in its headers', modern, { ...MODERN, 'Mcp-Method': '' }],
  [
    'one without the version in its headers',
    modern,
    { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'get_company' },
  ],
  ['one of another version', withMeta({ 'io.modelcontextprotocol/protocolVersion': '2027-01-01' }), MODERN],
  ['one without an id', { ...modern, id: undefined }, MODERN],
  ['one with the id null', { ...modern, id: null }, MODERN],
  ['one of no tool', { ...modern, params: { ...modern.params, name: 'x' } }, { ...MODERN, 'Mcp-Name': 'x' }],
  ['one whose input is a list', { ...modern, params: { ...modern.params, arguments: [] } }, MODERN],
  ['another method', { ...modern, method: 'ping' }, { ...MODERN, 'Mcp-Method': 'ping' }],
  ['a call of 2025', call, { 'MCP-Protocol-Version': '2025-11-25' }],
  ['one without a version', call],
  ['one of an older version', call, { 'MCP-Protocol-Version': '2025-03-26' }],
  ['one of 2025 that asks for progress', { ...call, params: { ...params, _meta: { progressToken: 'x' } } }],
  ...SUPPORTED_PROTOCOL_VERSIONS.map((version): (typeof MESSAGES)[number] => [
    `one of ${version}`,
    call,
    { 'MCP-Protocol-Version': version },
  ]),
  ['one of a version that does not exist', call, { 'MCP-Protocol-Version': '2025-01-01' }],
];
test.each(MESSAGES)(
  '%s gets what the SDK answers, and is refused if the SDK refuses it',
  async (_name, message, more = {}) => {
    const headers = new Headers({
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...more,
    });
    expect(byUs(message, headers)).toEqual(await bySdk(message, headers));
  },
);
