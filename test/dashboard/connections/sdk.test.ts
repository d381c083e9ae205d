/** The OAuth clients of the protocol's SDKs, of 2026 and 2025, connect by themselves: from the first 401 to a paid call, a refresh and the end. */
import { afterAll, describe, expect, test } from 'bun:test';
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

interface Connected {
  connect(): Promise<unknown>;
  finish(code: string, iss: string): Promise<void>;
  call(q: string): Promise<unknown>;
  close(): Promise<void>;
}

type Open = (url: URL, provider: unknown) => Connected;

const open2026: Open = (url, provider) => {
  const transport = new StreamableHTTPClientTransport(url, { authProvider: provider as never });
  const client = new Client(INFO, { versionNegotiation: { mode: 'auto' } });
  return {
    connect: () => client.connect(transport),
    finish: (code, iss) => transport.finishAuth(code, iss),
    call: (q) => client.callTool({ name: 'search_companies', arguments: { q } }),
    close: () => client.close(),
  };
};
const open2025: Open = (url, provider) => {
  const transport = new Transport2025(url, { authProvider: provider as never });
  const client = new Client2025(INFO);
  return {
    connect: () => client.connect(transport as never),
    finish: (code) => transport.finishAuth(code),
    call: (q) => client.callTool({ name: 'search_companies', arguments: { q } }),
    close: () => client.close(),
  };
};

describe.each<[string, Open]>([
  ['of 2026', open2026],
  ['of 2025', open2025],
])('the SDK %s', (_, open) => {
  test('connects, pays for a call, refreshes, and is ended', async () => {
    const member = await createMember(api as never);
    // The clients below connect until they see a change.
    await api.sql`UPDATE accounts SET requests_per_minute = 6000 WHERE id = ${member.accountId}`;
    const url = new URL(`${api.baseUrl}/mcp`);
    const host = createHost();
    /** Connects until it has the outcome: a change of tokens is known within seconds. */
    const connectUntil = (what: string, isDone: (error: unknown) => boolean) =>
      until(what, async () => {
        const client = open(url, host.provider);
        const error = await client.connect().then(
          () => null,
          (error) => error,
        );
        await client.close();
        return isDone(error);
      });
    const first = open(url, host.provider);
    await expect(first.connect()).rejects.toThrow();
    const asked = host.authorizationUrl();
    expect(asked.searchParams.get('resource')).toBe(`${api.baseUrl}/mcp`);
    const page = (await member.visitor.get(asked.pathname + asked.search)).headers.get('location')!;
    const answer = new URL((await consent(member.visitor, member, page)).headers.get('location')!);
    expect(answer.searchParams.get('state')).toBe('the state');
    await first.finish(answer.searchParams.get('code')!, answer.searchParams.get('iss')!);
    const second = open(url, host.provider);
    await second.connect();
    expect(await second.call('empresa')).toMatchObject({ structuredContent: { error: null } });
    expect((await api.ledger(member)).used).toBe(1);
    await second.close();

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
    const third = open(url, host.provider);
    await third.connect();
    expect(await third.call('empresa')).toMatchObject({ structuredContent: { error: null } });
    expect((await api.ledger(member)).used).toBe(2);
    await third.close();

    await revoke(api, after.refresh_token);
    await connectUntil('the end', (error) => error !== null);
  });
});
