/** Real clients of the protocol: the newest one in both of its revisions, the one of 2025, and the protocol's own suite. */
import { afterAll, describe, expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as Client2025 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport2025 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { TOOLS } from '../../src/mcp/tools.ts';
import { type Caller, startApi } from '../support/api.ts';
import { bareEnvironment } from '../support/command.ts';
import { csv, nif } from '../support/companies.ts';
import { createFolder } from '../support/folder.ts';
import { nifPtFound } from '../support/provider.ts';

const INFO = { name: 'test', version: '1' };

interface Connected {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

const requestInit = ({ key }: Pick<Caller, 'key'>) => ({ headers: { Authorization: `Bearer ${key}` } });

async function connectNewest(
  url: URL,
  caller: Pick<Caller, 'key'>,
  mode: 'auto' | 'legacy',
): Promise<Connected> {
  const client = new Client(INFO, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: requestInit(caller) }));
  return client as unknown as Connected;
}

async function connect2025(url: URL, caller: Pick<Caller, 'key'>): Promise<Connected> {
  const client = new Client2025(INFO);
  const transport = new Transport2025(url, { requestInit: requestInit(caller) });
  await client.connect(transport as unknown as Parameters<typeof client.connect>[0]);
  return client as unknown as Connected;
}

const CLIENTS: [name: string, connect: (url: URL, caller: Pick<Caller, 'key'>) => Promise<Connected>][] = [
  ['of 2026', (url, caller) => connectNewest(url, caller, 'auto')],
  ['of 2026, as one of 2025', (url, caller) => connectNewest(url, caller, 'legacy')],
  ['of 2025', connect2025],
];

const api = await startApi({ directory: csv(1, 4) });
api.provider.answer(nif(1), nifPtFound(nif(1)));
afterAll(() => api.stop());

describe.each(CLIENTS)('a client %s', (_name, connect) => {
  const url = () => new URL(`${api.baseUrl}/mcp`);

  test('lists the tools, calls them, reads a problem, and pays as over REST', async () => {
    const caller = await api.caller();
    const client = await connect(url(), caller);
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([...TOOLS.keys()] as string[]);
      expect(await client.callTool({ name: 'search_companies', arguments: { q: 'empresa' } })).toMatchObject({
        structuredContent: { data: [{ nif: nif(1) }, { nif: nif(2) }, { nif: nif(3) }], error: null },
      });
      expect(await client.callTool({ name: 'get_company', arguments: { nif: nif(1) } })).toMatchObject({
        structuredContent: { result: 'success', data: { nif: Number(nif(1)) } },
      });
      expect(await client.callTool({ name: 'get_company', arguments: { nif: nif(2) } })).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: expect.stringContaining('There is no such company') }],
      });
      await expect(client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toThrow(
        /no such tool.*search_companies, resolve_companies, get_company/,
      );
    } finally {
      await client.close();
    }
    expect((await api.ledger(caller)).used).toBe(3);
  });

  test('can not connect without a valid key', async () => {
    await expect(connect(url(), { key: 'svc_wrong' })).rejects.toThrow();
  });
});

// The protocol's own conformance suite: every scenario for servers that applies to a server with tools alone passes.

const APPLY = [
  ...['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
  // A server may do without streams; these see that it does.
  'server-sse-polling',
  'server-sse-multiple-streams',
];

/** Why a scenario does not apply. Each fails, because the suite has no way to leave one out. */
const DO_NOT_APPLY: Record<string, string[]> = {
  'they call a tool of the reference server': [
    ...['tools-call-simple-text', 'tools-call-image', 'tools-call-audio'],
    ...['tools-call-embedded-resource', 'tools-call-mixed-content', 'tools-call-error'],
    'json-schema-2020-12',
  ],
  'the server sends nothing but results: no log lines, no progress': [
    'logging-set-level',
    'tools-call-with-logging',
    'tools-call-with-progress',
  ],
  'the server asks its client nothing': [
    ...['tools-call-sampling', 'tools-call-elicitation', 'elicitation-sep1034-defaults'],
    'elicitation-sep1330-enums',
  ],
  'the server has tools alone: no resources, prompts or completions': [
    ...['resources-list', 'resources-read-text', 'resources-read-binary', 'resources-templates-read'],
    ...['resources-subscribe', 'resources-unsubscribe', 'prompts-list', 'prompts-get-simple'],
    ...['prompts-get-with-args', 'prompts-get-embedded-resource', 'prompts-get-with-image'],
    'completion-complete',
  ],
};

test('every scenario passes that applies, and the list of the others is complete', async () => {
  const { key } = await api.caller({ limits: { requestsPerMinute: 6000 } });
  // The suite can't send a key.
  using withKey = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const headers = new Headers(request.headers);
      headers.set('Authorization', `Bearer ${key}`);
      headers.delete('Host');
      return fetch(`${api.baseUrl}/mcp`, { method: request.method, headers, body: request.body });
    },
  });
  const folder = createFolder('conformance');
  const suite = Bun.spawn(
    [
      process.execPath,
      fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js')),
      ...['server', '--url', `http://127.0.0.1:${withKey.port}/mcp`, '--suite', 'all'],
      ...['--output-dir', folder],
    ],
    { cwd: folder, env: bareEnvironment(), stdout: 'pipe', stderr: 'ignore' },
  );
  const report = await new Response(suite.stdout).text();
  const outcomes = [...report.matchAll(/^([✓✗]) ([\w-]+): /gm)].map(([, mark, name]) => `${mark} ${name}`);
  const others = Object.values(DO_NOT_APPLY).flat();
  expect(outcomes.sort()).toEqual(
    [...APPLY.map((name) => `✓ ${name}`), ...others.map((name) => `✗ ${name}`)].sort(),
  );
});
