/** The checks that keep a connection from the wrong agent, browser and address (docs/mcp.md: connections). */
import { afterAll, describe, expect, test } from 'bun:test';
import { mailsOf } from '../../../src/dashboard/auth/limits.ts';
import { ROUTES } from '../../../src/dashboard/routes.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { startDashboardService } from '../service.ts';
import {
  createMember,
  createVisitor,
  formTokenOf,
  type PageAnswer,
  usageStatus,
  type Visitor,
} from '../visitor.ts';
import {
  agentOf,
  answerOf,
  askedMember,
  askToken,
  authorizePath,
  callTool,
  connectedMember,
  consent,
  exchange,
  openConsent,
  refresh,
  registerAgent,
  revoke,
  waitingCode,
} from './agent.ts';

const service = await startDashboardService({ OAUTH_REGISTRATION: 'on' });
afterAll(() => service.stop());
const { baseUrl, sql } = service;

const METADATA = ['/.well-known/oauth-protected-resource', '/.well-known/oauth-authorization-server'];
const ENDPOINTS = ['/oauth/token', '/oauth/revoke', '/oauth/register'];

describe('metadata', () => {
  test('a 401 at /mcp leads to it, and says if the token is the fault', async () => {
    const metadata = `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp"`;
    expect((await callTool(service, null)).challenge).toBe(`Bearer ${metadata}`);
    expect((await callTool(service, 'svc_wrong')).challenge).toBe(
      `Bearer error="invalid_token", ${metadata}`,
    );
    const elsewhere = await fetch(`${service.url}/usage`);
    expect(elsewhere.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('it names the resource and the endpoints, S256 alone, public clients, and iss', async () => {
    const read = async (path: string) => (await fetch(`${baseUrl}/.well-known/${path}`)).json();
    const resource = await read('oauth-protected-resource');
    expect(resource).toMatchObject({ resource: `${baseUrl}/mcp`, authorization_servers: [baseUrl] });
    expect(await read('oauth-protected-resource/mcp')).toEqual(resource);
    expect(await read('oauth-authorization-server')).toEqual({
      issuer: baseUrl,
      authorization_endpoint: `${baseUrl}/dashboard/connect`,
      token_endpoint: `${baseUrl}/oauth/token`,
      revocation_endpoint: `${baseUrl}/oauth/revoke`,
      registration_endpoint: `${baseUrl}/oauth/register`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
  });

  test.each(['http://directory.example', 'https://directory.example/api'])(
    'with PUBLIC_URL %s there are no connections',
    async (PUBLIC_URL) => {
      await using off = await startDashboardService({ PUBLIC_URL, OAUTH_REGISTRATION: 'on' });
      for (const path of METADATA) expect((await fetch(off.baseUrl + path)).status).toBe(404);
      for (const path of ENDPOINTS)
        expect((await fetch(off.baseUrl + path, { method: 'POST' })).status).toBe(404);
      expect((await callTool(off, null)).challenge).toBe('Bearer');
      const path = authorizePath(agentOf('client'));
      expect((await createVisitor(off.baseUrl).get(path)).status).toBe(404);
    },
  );

  test('without OAUTH_REGISTRATION no client registers itself', async () => {
    await using off = await startDashboardService();
    expect((await fetch(`${off.baseUrl}/oauth/register`, { method: 'POST', body: '{}' })).status).toBe(404);
    const metadata = await (await fetch(`${off.baseUrl}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).not.toHaveProperty('registration_endpoint');
    // One that has registered itself before is refused, too.
    const agent = agentOf('client_before');
    await off.sql`INSERT INTO connection_clients VALUES ('client_before', 'Before', ${[agent.redirectUri]})`;
    const member = await createMember(off);
    const path = await openConsent(member.visitor, agent);
    expect((await member.visitor.get(path)).textOf('h1')).toBe('This agent can’t be connected');
  });

  test('pages of other sites may read what agents call, without cookies, but neither /mcp nor pages', async () => {
    const pages = ['/mcp', '/dashboard/connect', '/dashboard/sign-in'];
    for (const [paths, methods, allowed] of [
      [METADATA, ['GET'], '*'],
      [ENDPOINTS, ['OPTIONS', 'POST'], '*'],
      [pages, ['OPTIONS', 'POST'], null],
    ] as const)
      for (const path of paths)
        for (const method of methods) {
          const init = { method, headers: { Origin: 'https://agent.example' } };
          const { headers } = await fetch(baseUrl + path, init);
          const cors = ['origin', 'credentials'].map((name) => headers.get(`access-control-allow-${name}`));
          expect([method, path, ...cors]).toEqual([method, path, allowed, null]);
        }
  });
});

describe('the request of an agent', () => {
  test.each([
    ['without a challenge', { code_challenge: null }, 'invalid_request'],
    ['with a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['without a method of its challenge', { code_challenge_method: null }, 'invalid_request'],
    ['for a token in the address', { response_type: 'token' }, 'unsupported_response_type'],
    ['for another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['for the API', { resource: `${baseUrl}/api/v1` }, 'invalid_target'],
  ])('%s is refused by a page whose link has the error, state and iss', async (_, changed, error) => {
    const { member, agent, path } = await askedMember(service, changed);
    const page = await member.visitor.get(path);
    expect(page.status).toBe(400);
    const back = new URL(page.document.querySelector('main a.button')!.getAttribute('href')!);
    expect(back.origin + back.pathname).toBe(agent.redirectUri);
    expect(Object.fromEntries(back.searchParams)).toEqual({ error, state: agent.state, iss: baseUrl });
  });

  test('names this resource, or none', async () => {
    const member = await createMember(service);
    for (const resource of [`${baseUrl}/mcp`, null]) {
      const agent = await registerAgent(service);
      const path = await openConsent(member.visitor, agent, { resource });
      const { code } = answerOf(await consent(member.visitor, member, path));
      const other = await exchange(service, agent, code!, { resource: 'https://other.example/mcp' });
      expect(other.error).toBe('invalid_target');
      const given = resource === null ? {} : { resource };
      expect((await exchange(service, agent, code!, given)).status).toBe(200);
    }
  });

  test('that is denied goes back with access_denied, state and iss, and has ended', async () => {
    const { member, agent, path } = await askedMember(service);
    const answer = await consent(member.visitor, member, path, { answer: 'no' });
    expect(answerOf(answer)).toEqual({ error: 'access_denied', state: agent.state, iss: baseUrl });
    expect((await member.visitor.get(path)).status).toBe(404);
  });

  test.each([
    ['an address that is not registered', 'https://agent.example/other'],
    ['the registered one with a query', 'https://agent.example/callback?to=evil'],
    ['a subdomain', 'https://evil.agent.example/callback'],
  ])('with %s leads nowhere', async (_, redirectUri) => {
    const { member, path } = await askedMember(service, { redirect_uri: redirectUri });
    const page = await member.visitor.get(path);
    expect([page.status, page.text.includes(redirectUri)]).toEqual([400, false]);
  });

  test.each([
    ['http to another machine', 'http://agent.example/callback'],
    ['a private scheme', 'cursor://callback'],
    ['javascript', 'javascript:alert(1)'],
    ['a fragment', 'https://agent.example/#callback'],
    ['credentials', 'https://user:word@agent.example/'],
    ['a line break', 'https://agent.example/\n'],
  ])('with a redirect_uri of %s is neither registered nor led to the sign-in', async (_, redirectUri) => {
    const path = authorizePath(await registerAgent(service), { redirect_uri: redirectUri });
    expect((await createVisitor(baseUrl).get(path)).status).toBe(400);
    expect((await registerAgent(service, { redirectUri })).clientId).toBeUndefined();
  });

  test('with a parameter twice, or longer than 4,000 characters, is refused before the sign-in', async () => {
    const path = authorizePath(await registerAgent(service));
    const visitor = createVisitor(baseUrl);
    expect((await visitor.get(`${path}&other=1`)).status).toBe(303);
    const many = Array.from({ length: 1500 }, (_, n) => `&${n.toString(36)}`).join('');
    for (const more of ['&state=again', '&redirect_uri=a', `&other=${'x'.repeat(4000)}`, many])
      expect((await visitor.get(path + more)).status).toBe(400);
  });

  test('on the own machine takes any port, and the page warns of it', async () => {
    const member = await createMember(service);
    const agent = await registerAgent(service, { redirectUri: 'http://127.0.0.1:1234/callback' });
    const other = { ...agent, redirectUri: 'http://127.0.0.1:4321/callback' };
    const page = await member.visitor.get(await openConsent(member.visitor, other));
    expect(page.text).toContain('It sends you to a program on this computer.');
    const elsewhere = { ...agent, redirectUri: 'http://localhost:4321/callback' };
    expect((await member.visitor.get(await openConsent(member.visitor, elsewhere))).status).toBe(400);
  });

  test('has no consent before its page has found its client', async () => {
    const { member, path } = await askedMember(service);
    const form_token = await formTokenOf(member.visitor, '/dashboard/settings');
    const fields = { form_token, present: member.password, answer: 'yes' };
    expect((await member.visitor.post(path, fields)).status).toBe(404);
    expect((await member.visitor.get(path)).status).toBe(200);
  });

  test('waits for ten minutes, in the browser that began it', async () => {
    const [member, other] = [await createMember(service), await createMember(service)];
    const agent = await registerAgent(service);
    const path = await openConsent(member.visitor, agent);
    expect((await other.visitor.get(path)).status).toBe(404);
    // Also in a browser that began another request.
    await openConsent(other.visitor, agent);
    expect((await other.visitor.get(path)).status).toBe(404);
    expect((await member.visitor.get(path)).status).toBe(200);
    const [waits] = await sql`
      SELECT bool_and(until BETWEEN now() + interval '9 minutes' AND now() + interval '10 minutes') AS "isRight" FROM connection_requests
      WHERE client_id = ${agent.clientId}`;
    expect(waits).toEqual({ isRight: true });
    await sql`UPDATE connection_requests SET until = now()`;
    expect((await member.visitor.get(path)).status).toBe(404);
  });
});

describe('a code', () => {
  test('is exchanged by its own agent with its verifier, to its own address, and once', async () => {
    const member = await createMember(service);
    const { agent, code } = await waitingCode(service, member);
    const other = await registerAgent(service);
    for (const changed of [
      { code_verifier: other.verifier },
      { code_verifier: '' },
      { client_id: other.clientId },
      { redirect_uri: 'https://agent.example/other' },
      { code: other.state },
    ] as Record<string, string>[]) {
      const { status, error } = await exchange(service, agent, code, changed);
      expect([status, error]).toEqual([400, 'invalid_grant']);
    }
    const tokens = await exchange(service, agent, code);
    expect(tokens.status).toBe(200);
    // Somebody else's guess ends nothing.
    const guess = await exchange(service, agent, code, { code_verifier: other.verifier });
    expect(guess.error).toBe('invalid_grant');
    expect((await callTool(service, tokens.access_token)).status).toBe(200);
    expect((await exchange(service, agent, code)).error).toBe('invalid_grant');
    expect((await refresh(service, agent, tokens.refresh_token)).error).toBe('invalid_grant');
    const last = await sql`
      SELECT kind, actor FROM account_events WHERE account_id = ${member.accountId} ORDER BY id DESC LIMIT 1`;
    expect([...last]).toEqual([{ kind: 'key-revoked', actor: 'client:registered' }]);
  });

  test('of two exchanges at once gets tokens for one alone', async () => {
    const { agent, code } = await waitingCode(service, await createMember(service));
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => exchange(service, agent, code)));
    expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('lives for a minute', async () => {
    const member = await createMember(service);
    const { agent, code } = await waitingCode(service, member);
    const of = sql`account_id = ${member.accountId} AND is_connection`;
    const [life] =
      await sql`SELECT expires_at - created_at BETWEEN '59 seconds' AND '61 seconds' AS "isRight" FROM api_keys WHERE ${of}`;
    expect(life).toEqual({ isRight: true });
    await sql`UPDATE api_keys SET expires_at = now() WHERE ${of}`;
    expect((await exchange(service, agent, code)).error).toBe('invalid_grant');
  });
});

describe('a refresh token', () => {
  const age = (seconds: number) =>
    sql`UPDATE connection_refresh_tokens SET used_at = used_at - ${seconds} * interval '1 second'`;

  test('gets ten further pairs within two minutes of its use; its reuse later ends the connection', async () => {
    const { agent, tokens } = await connectedMember(service);
    const burst = await Promise.all(
      Array.from({ length: 12 }, () => refresh(service, agent, tokens.refresh_token)),
    );
    const pairs = burst.filter(({ status }) => status === 200);
    expect(pairs).toHaveLength(11);
    for (const { access_token } of pairs) expect((await callTool(service, access_token)).status).toBe(200);
    await age(119);
    expect((await refresh(service, agent, pairs[0]!.refresh_token)).status).toBe(200);
    await age(2);
    expect((await refresh(service, agent, tokens.refresh_token)).error).toBe('invalid_grant');
    expect((await refresh(service, agent, pairs[1]!.refresh_token)).error).toBe('invalid_grant');
  });

  test('is of a generation: when one of it is refreshed, the others have two minutes, and end the connection later', async () => {
    const { agent, tokens } = await connectedMember(service);
    const next = async (token: string) => (await refresh(service, agent, token)).refresh_token!;
    // A thief has copied the token. Both go on for a round at the same time, and then the thief is late.
    let [client, thief] = [await next(tokens.refresh_token), await next(tokens.refresh_token)];
    await age(3600);
    [client, thief] = [await next(client), await next(thief)];
    await age(3600);
    const last = await refresh(service, agent, client);
    expect(last.status).toBe(200);
    await age(121);
    expect((await refresh(service, agent, thief)).error).toBe('invalid_grant');
    expect((await callTool(service, last.access_token)).status).toBe(401);
  });

  test('that a process of 0.1.0 has issued is alone, and lines of one client go on', async () => {
    const { agent, tokens } = await connectedMember(service);
    let token = tokens.refresh_token;
    for (let round = 0; round < 6; round += 1) {
      await age(3600);
      const answer = await refresh(service, agent, token);
      expect(answer.status).toBe(200);
      token = answer.refresh_token!;
      if (round % 2 === 0)
        await sql`UPDATE connection_refresh_tokens SET generation = NULL WHERE used_at IS NULL`;
    }
  });

  test('is its own agent’s, moves the end of the connection, and writes no event', async () => {
    const { member, agent, tokens } = await connectedMember(service);
    const other = await registerAgent(service);
    expect((await refresh(service, other, tokens.refresh_token)).error).toBe('invalid_grant');
    const events = () => sql`SELECT id FROM account_events WHERE account_id = ${member.accountId}`;
    const before = (await events()).length;
    await sql`UPDATE api_keys SET expires_at = now() + interval '1 minute' WHERE account_id = ${member.accountId}`;
    expect((await refresh(service, agent, tokens.refresh_token)).status).toBe(200);
    const [key] = await sql`
      SELECT expires_at BETWEEN now() + interval '29 days 23 hours' AND now() + interval '30 days' AS "isMoved" FROM api_keys WHERE account_id = ${member.accountId}`;
    expect(key).toEqual({ isMoved: true });
    expect((await events()).length).toBe(before);
    await sql`UPDATE api_keys SET expires_at = now() WHERE account_id = ${member.accountId}`;
    expect((await refresh(service, agent, tokens.refresh_token)).error).toBe('invalid_grant');
  });

  test('of a connection gets sixty access tokens an hour, which end after it', async () => {
    const { member, agent, tokens } = await connectedMember(service);
    await sql`
      INSERT INTO connection_tokens SELECT sha256(convert_to(key_id || n, 'UTF8')), key_id, now() + interval '1 minute'
      FROM connections, generate_series(1, 59) AS n WHERE account_id = ${member.accountId}`;
    expect((await refresh(service, agent, tokens.refresh_token)).status).toBe(429);
    await sql`UPDATE connection_tokens SET until = now()`;
    expect((await refresh(service, agent, tokens.refresh_token)).status).toBe(200);
    const left = await sql`
      SELECT 1 FROM connection_tokens JOIN connections USING (key_id) WHERE account_id = ${member.accountId}`;
    expect(left).toHaveLength(1);
  });
});

describe('limits by address', () => {
  const address = '203.0.113.77';
  const post = (path: string, body: string, from: string) =>
    fetch(baseUrl + path, { method: 'POST', headers: { 'X-Forwarded-For': from }, body });

  test('at the token endpoint failures alone count, and refuse failures alone', async () => {
    const { agent, tokens } = await connectedMember(service);
    const fields = { grant_type: 'refresh_token', client_id: agent.clientId };
    const wrong = { ...fields, refresh_token: 'wrong' };
    const askRight = () => askToken(service, { ...fields, refresh_token: tokens.refresh_token }, address);
    const ofAddress = sql`key = ${`token ${address}`}`;
    const askUnread = () => post('/oauth/token', 'no form', address);
    await askToken(service, wrong, address);
    await askUnread();
    await askRight();
    const [failures] = await sql`SELECT attempts FROM dashboard_attempts WHERE ${ofAddress}`;
    expect(failures).toEqual({ attempts: 2 });
    // Refreshes in flight are no failures.
    await sql`UPDATE dashboard_attempts SET attempts = 199 WHERE ${ofAddress}`;
    const burst = await Promise.all(Array.from({ length: 5 }, askRight));
    expect(burst.map(({ status }) => status)).toEqual(Array(5).fill(200));
    await askToken(service, wrong, address);
    const refused = await askToken(service, wrong, address);
    expect([refused.status, refused.error]).toEqual([429, 'temporarily_unavailable']);
    const unread = await askUnread();
    expect([unread.status, Number(unread.headers.get('retry-after')) > 80]).toEqual([429, true]);
    expect((await askToken(service, wrong)).error).toBe('invalid_grant');
    // Another user of the same host refreshes on.
    expect((await askRight()).status).toBe(200);
  });

  test('a stranger at a member’s address, who has used all of its limits up, keeps no known browser out', async () => {
    const visitor = createVisitor(baseUrl, { address });
    const member = await createMember(service, { visitor });
    const agent = await registerAgent(service);
    const ask = async (browser: Visitor) => (await browser.get(authorizePath(agent))).status;
    visitor.cookies.delete('dashboard.session_token');
    await sql`
      INSERT INTO dashboard_attempts SELECT kind || ${` ${address}`}, 100000, now() + interval '1 hour'
      FROM unnest(${['connect', 'guess']}::text[]) AS kind
      ON CONFLICT (key) DO UPDATE SET attempts = 100000, ends_at = now() + interval '1 hour'`;
    const stranger = createVisitor(baseUrl, { address });
    expect(await ask(stranger)).toBe(429);
    let refused: PageAnswer;
    do refused = await stranger.get('/dashboard/sign-in');
    while (refused.status === 200);
    expect(refused.status).toBe(429);
    expect(await ask(visitor)).toBe(303);
    const keysOf = (knownUser: string | null) =>
      mailsOf({ address, isShared: false, knownUser }).map(({ key }) => key);
    expect([keysOf(null), keysOf('maria')]).toEqual([[`mail ${address}`], ['mail maria']]);
    const { email, password } = member;
    expect((await visitor.submit('/dashboard/sign-in', { email, password })).status).toBe(303);
  });

  test('bound the requests that wait, and registrations', async () => {
    const visitor = createVisitor(baseUrl, { address });
    const path = authorizePath(await registerAgent(service));
    await visitor.get(path);
    await sql`UPDATE dashboard_attempts SET attempts = 100 WHERE key = ${`connect ${address}`}`;
    expect((await visitor.get(path)).status).toBe(429);
    const register = (from: string) => post('/oauth/register', '{}', from);
    await register(address);
    await sql`UPDATE dashboard_attempts SET attempts = 20 WHERE key = ${`register ${address}`}`;
    const refused = await register(address);
    expect([refused.status, Number(refused.headers.get('retry-after')) > 80]).toEqual([429, true]);
    expect((await register('203.0.113.78')).status).toBe(400);
  });
});

test('a member makes the service read 30 documents of clients in ten minutes; the next page says when to come back', async () => {
  const agent = agentOf('https://agent.invalid/client.json');
  const [member, other] = [await createMember(service), await createMember(service)];
  const path = await openConsent(member.visitor, agent);
  for (let count = 1; count <= 30; count += 1) expect((await member.visitor.get(path)).status).toBe(400);
  const refused = await member.visitor.get(path);
  expect([refused.status, refused.textOf('h1')]).toEqual([429, 'Too many requests']);
  expect(refused.textOf('.lead')).toBe('Too many attempts. Try again in 10 minutes.');
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 601);
  expect((await other.visitor.get(await openConsent(other.visitor, agent))).status).toBe(400);
});

test('no token, code, verifier or state is in a log', async () => {
  const { agent, code, tokens } = await connectedMember(service);
  const next = await refresh(service, agent, tokens.refresh_token);
  await callTool(service, next.access_token);
  await exchange(service, agent, code);
  await revoke(service, next.refresh_token);
  const log = JSON.stringify(service.logLines);
  const stored = JSON.stringify(
    await sql`SELECT connections.*, connection_requests.parameters FROM connections, connection_requests`,
  );
  const pairs = [tokens, next].flatMap((pair) => [pair.access_token, pair.refresh_token]);
  for (const secret of [code, ...pairs, agent.verifier]) expect(log + stored).not.toContain(secret);
  expect(log).not.toContain(agent.state);
});

test('every page has a strict policy, is not stored and tells other sites nothing; those of the way alone lack the opener policy, and the consent form-action', async () => {
  const member = await createMember(service);
  const consentPath = await openConsent(member.visitor, await registerAgent(service));
  const to = encodeURIComponent(consentPath.replace('/dashboard', ''));
  const isOnWay = (path: string) => path.startsWith('/dashboard/connect') || path.endsWith(to);
  const paths = Object.keys(ROUTES).map((path) => `/dashboard${path.replace(':id', 'none')}`);
  for (const path of ['/sign-in', '/sign-in/code', '/sign-up', '/forgot'])
    paths.push(`/dashboard${path}?to=${to}`);
  paths.push(consentPath, '/dashboard/sign-in?to=/connected', '/dashboard/none');
  for (const visitor of [member.visitor, createVisitor(baseUrl)])
    for (const path of paths) {
      const { headers } = await visitor.get(path);
      const policy = headers.get('content-security-policy') ?? '';
      const isForgot = path.startsWith('/dashboard/forgot');
      const opener = isOnWay(path) && !isForgot ? null : 'same-origin';
      expect([path, headers.get('cross-origin-opener-policy')]).toEqual([path, opener]);
      for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
        expect([path, policy]).toEqual([path, expect.stringContaining(part)]);
      expect(policy).not.toContain('unsafe');
      const further = ['cache-control', 'x-content-type-options', 'referrer-policy'];
      expect(further.map((name) => headers.get(name))).toEqual([
        ...['private, no-store', 'nosniff', 'same-origin'],
      ]);
      const isConsent = visitor === member.visitor && path === consentPath;
      expect([path, policy.includes("form-action 'self'")]).toEqual([path, !isConsent]);
    }
});

test('each secret works in its own place alone: a key, a code, an access token, a refresh token', async () => {
  const { member, agent, tokens } = await connectedMember(service);
  const { agent: other, code } = await waitingCode(service, member);
  const { secret: key } = await createKey(sql, member.accountId, 'own', 'test');
  const secrets = { key, code, access: tokens.access_token, refresh: tokens.refresh_token };
  // A secret of another kind does not end it, either.
  for (const secret of [key, code]) expect((await revoke(service, secret)).status).toBe(200);
  const places: Record<string, (secret: string) => Promise<{ status: number }>> = {
    '/api/v1/usage': async (secret) => ({ status: await usageStatus(service, secret) }),
    '/mcp': (secret) => callTool(service, secret),
    'refresh token': (secret) => refresh(service, agent, secret),
    code: (secret) => exchange(service, other, secret),
  };
  const works: [string, string][] = [];
  for (const [name, secret] of Object.entries(secrets))
    for (const [place, send] of Object.entries(places))
      if ((await send(secret)).status === 200) works.push([name, place]);
  expect(works).toEqual([
    ['key', '/api/v1/usage'],
    ['key', '/mcp'],
    ['code', 'code'],
    ['access', '/mcp'],
    ['refresh', 'refresh token'],
  ]);
});
