/** The bounds of a connection's secrets, and of the headers of its pages (docs/mcp.md: Connections). */
import { afterAll, expect, test } from 'bun:test';
import { ROUTES } from '../../../src/dashboard/routes.ts';
import { createKey } from '../../../src/metering/keys/store.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor, usageStatus } from '../visitor.ts';
import {
  callTool,
  connectAgent,
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

test('the pages of the way alone lack the opener policy, the consent alone form-action, and none can be framed', async () => {
  const member = await createMember(service);
  const consentPath = await openConsent(member.visitor, await registerAgent(service));
  const to = encodeURIComponent(consentPath.replace('/dashboard', ''));
  const isOnWay = (path: string) => path.startsWith('/dashboard/connect') || path.endsWith(to);
  const paths = Object.keys(ROUTES).map((path) => `/dashboard${path.replace(':id', 'none')}`);
  const further = ['/sign-in', '/sign-in/code', '/sign-up', '/forgot'].map(
    (path) => `/dashboard${path}?to=${to}`,
  );
  for (const visitor of [member.visitor, createVisitor(baseUrl)])
    for (const path of [
      ...paths,
      ...further,
      consentPath,
      '/dashboard/sign-in?to=/connected',
      '/dashboard/none',
    ]) {
      const { headers } = await visitor.get(path);
      const policy = headers.get('content-security-policy') ?? '';
      const isForgot = path.startsWith('/dashboard/forgot');
      const opener = isOnWay(path) && !isForgot ? null : 'same-origin';
      expect([path, headers.get('cross-origin-opener-policy')]).toEqual([path, opener]);
      expect([path, policy.includes("frame-ancestors 'none'")]).toEqual([path, true]);
      const isConsent = visitor === member.visitor && path === consentPath;
      expect([path, policy.includes("form-action 'self'")]).toEqual([path, !isConsent]);
    }
});

test('each secret works in its own place alone: a key, a code, an access token, a refresh token', async () => {
  const member = await createMember(service);
  const { agent, tokens } = await connectAgent(service, member);
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

test('a code that waits is worth nothing once its member was removed', async () => {
  const member = await createMember(service);
  const { agent, code } = await waitingCode(service, member);
  await sql`DELETE FROM dashboard_members WHERE account_id = ${member.accountId}`;
  expect((await exchange(service, agent, code)).error).toBe('invalid_grant');
});
