/** The OAuth clients of the protocol's SDKs, of 2026 and 2025, connect by themselves: from the first 401 to a paid call, a refresh and the end. */
import { afterAll, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as Client2025 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport2025 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startApi } from '../../support/api.ts';
import { csv } from '../../support/companies.ts';
import { until } from '../../support/until.ts';
import { OPEN } from '../service.ts';
import { createMember } from '../visitor.ts';
import { consent, revoke } from './agent.ts';

const INFO = { name: 'agent', version: '1' };
const REDIRECT = 'http://127.0.0.1:1/callback';

const api = await startApi({ directory: csv(1, 4), env: { ...OPEN, OAUTH_REGISTRATION: 'on' } });
afterAll(() => api.stop());

/** The state that a host of agents keeps for its user. */
function createHost() {
  const kept: Record<string, unknown> = {};
  const keep = (name: string) => (value: unknown) => {
    kept[name] = value;
  };
  return {
    kept,
    authorizationUrl: () => kept.url as URL,
    provider: {
      redirectUrl: REDIRECT,
      clientMetadata: {
        client_name: 'Agent',
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      state: () => 'the state',
      clientInformation: () => kept.client,
      saveClientInformation: keep('client'),
      tokens: () => kept.tokens,
      saveTokens: keep('tokens'),
      redirectToAuthorization: keep('url'),
      saveCodeVerifier: keep('verifier'),
      codeVerifier: () => kept.verifier,
      discoveryState: () => kept.discovery,
      saveDiscoveryState: keep('discovery'),
    },
  };
}

/** The methods that the clients and transports of both SDKs share. */
interface Sdk {
  client: {
    connect(transport: unknown): Promise<unknown>;
    callTool(call: object): Promise<unknown>;
    close(): Promise<void>;
  };
  transport: { finishAuth(code: string, iss: string): Promise<void> };
}

const SDKS: [of: string, open: (url: URL, authProvider: never) => unknown][] = [
  [
    'of 2026',
    (url, authProvider) => ({
      client: new Client(INFO, { versionNegotiation: { mode: 'auto' } }),
      transport: new StreamableHTTPClientTransport(url, { authProvider }),
    }),
  ],
  [
    'of 2025',
    (url, authProvider) => ({
      client: new Client2025(INFO),
      transport: new Transport2025(url, { authProvider }),
    }),
  ],
];

test.each(SDKS)('the SDK %s connects, pays for a call, refreshes, and is ended', async (_, create) => {
  const member = await createMember(api as never);
  // The clients below connect until they see a change.
  await api.sql`UPDATE accounts SET requests_per_minute = 6000 WHERE id = ${member.accountId}`;
  const url = new URL(`${api.baseUrl}/mcp`);
  const host = createHost();
  const open = () => {
    const { client, transport } = create(url, host.provider as never) as Sdk;
    return { client, transport, connect: () => client.connect(transport) };
  };
  /** Connects, and pays for the next call. */
  const connectAndPay = async (used: number) => {
    const { client, connect } = open();
    await connect();
    const found = await client.callTool({ name: 'search_companies', arguments: { q: 'empresa' } });
    expect(found).toMatchObject({ structuredContent: { error: null } });
    expect((await api.ledger(member)).used).toBe(used);
    await client.close();
  };
  /** Connects until it has the outcome: a change of tokens is known within seconds. */
  const connectUntil = (what: string, isDone: (error: unknown) => boolean) =>
    until(what, async () => {
      const { client, connect } = open();
      const [{ reason = null }] = (await Promise.allSettled([connect()])) as [{ reason?: unknown }];
      await client.close();
      return isDone(reason);
    });
  const first = open();
  await expect(first.connect()).rejects.toThrow();
  const asked = host.authorizationUrl();
  expect(asked.searchParams.get('resource')).toBe(`${api.baseUrl}/mcp`);
  const page = (await member.visitor.get(asked.pathname + asked.search)).headers.get('location')!;
  const answer = new URL((await consent(member.visitor, member, page)).headers.get('location')!);
  expect(answer.searchParams.get('state')).toBe('the state');
  await first.transport.finishAuth(answer.searchParams.get('code')!, answer.searchParams.get('iss')!);
  await connectAndPay(1);

  // An access token that has expired is a 401, and the client refreshes it.
  const before = host.kept.tokens as { access_token: string };
  await api.sql`DELETE FROM connection_tokens`;
  await api.sql.notify('account_changed', member.accountId);
  await connectUntil('a refresh', (error) => {
    expect(error).toBeNull();
    return host.kept.tokens !== before;
  });
  const after = host.kept.tokens as { access_token: string; refresh_token: string };
  expect(after.access_token).not.toBe(before.access_token);
  await connectAndPay(2);

  await revoke(api, after.refresh_token);
  await connectUntil('the end', (error) => error !== null);
});
