/** Real clients of the protocol: the newest one in both of its revisions, and the one of 2025. */
import { afterAll, describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as Client2025 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport2025 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { TOOLS } from '../../src/mcp/tools.ts';
import { type Caller, startApi } from '../support/api.ts';
import { csv, nif } from '../support/companies.ts';
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
      await expect(client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toThrow('no such tool');
    } finally {
      await client.close();
    }
    expect((await api.ledger(caller)).used).toBe(3);
  });

  test('can not connect without a valid key', async () => {
    await expect(connect(url(), { key: 'svc_wrong' })).rejects.toThrow();
  });
});

test('a problem says in words what to do, also for want of a token', async () => {
  const client = await connectNewest(
    new URL(`${api.baseUrl}/mcp`),
    await api.caller({ limits: { requestsPerMinute: 6 }, included: 0 }),
    'auto',
  );
  const call = () => client.callTool({ name: 'get_company', arguments: { nif: nif(1) } });
  const first = (await call()) as { content: { text: string }[] };
  expect(first.content[0]!.text).toMatch(
    /^No credits left\. The account has no included credits\. Stop, and tell the user to buy credits, or to change the plan\./,
  );
  expect(JSON.stringify(first)).not.toContain('Retry-After');
  let last = first;
  for (let sent = 0; sent < 8; sent += 1) last = (await call()) as typeof first;
  expect(last.content[0]!.text).toMatch(
    /^Too many requests\..* The next one is possible in \d+ s\. Wait \d+ s,/,
  );
  await client.close();
});
