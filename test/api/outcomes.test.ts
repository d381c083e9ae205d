import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readDirectory } from '../../src/companies/directory/generations.ts';
import { methodOf } from '../../src/http/api-route.ts';
import { setSuspended } from '../../src/metering/accounts/changes.ts';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { ledgerOf } from '../metering/credits/ledger.ts';
import { type Api, type Caller, startApi } from '../support/api.ts';
import { sendRaw } from '../support/client.ts';
import { csv, nif } from '../support/companies.ts';
import { CASES, WAYS } from '../support/mcp.ts';
import '../support/modes.ts';
import { nifPtFound } from '../support/provider.ts';

/** Low, so that what flows back into a bucket during a test stays below one token. */
const PER_MINUTE = 6;
const FOUND = nif(1);
const UNKNOWN = nif(2);
const FAILING = nif(3);

describe.each(CASES)('what each outcome answers and costs (%s, %s)', (mode, way) => {
  const ask = WAYS[way];
  let api: Api;
  beforeAll(async () => {
    api = await startApi({ mode, proxied: mode === 'full' ? ['elasticsearch'] : [], directory: csv(1, 4) });
    api.provider.answer(FOUND, nifPtFound(FOUND));
    api.provider.answer(FAILING, { result: 'surprise' });
  });
  afterAll(() => api.stop());

  const newCaller = (options = {}) =>
    api.caller({ limits: { requestsPerMinute: PER_MINUTE }, included: 10, ...options });

  /** Tokens and credits that the account has spent, without the token of this request. */
  async function spent(caller: Caller) {
    const { body } = await ask(api, '/usage', { key: caller.key });
    const { rateLimit, quotas } = body.data;
    return { tokens: PER_MINUTE - 1 - rateLimit.remaining, credits: quotas.requests.used };
  }

  // Those of free endpoints and of input that is not valid: credits.test.ts.
  const OUTCOMES: [name: string, path: string, status: number, kind: string | null, credits: number][] = [
    ['200: a search that finds', '/companies?q=empresa', 200, null, 1],
    ['200: a search that finds nothing', '/companies?q=nada', 200, null, 1],
    ['200: a lookup', `/companies/${FOUND}`, 200, null, 1],
    ['404 company-not-found', `/companies/${UNKNOWN}`, 404, 'company-not-found', 1],
    ['502 company-lookup-failed', `/companies/${FAILING}`, 502, 'company-lookup-failed', 1],
  ];
  test.each(OUTCOMES)('%s costs a token and its credit', async (_name, path, status, kind, credits) => {
    const caller = await newCaller();
    const sinceS = Date.now() / 1000;
    const answer = await ask(api, path, { key: caller.key });
    expect([answer.status, answer.kind]).toEqual([status, kind]);
    expect(answer.headers.get('RateLimit-Limit')).toBe(String(PER_MINUTE));
    expect(answer.headers.get('RateLimit-Remaining')).toBe(String(PER_MINUTE - 1));
    expect(answer.headers.get('RateLimit-Policy')).toBe(`${PER_MINUTE};w=60`);
    expect(Number(answer.headers.get('RateLimit-Reset'))).toBeWithin(sinceS - 2, Date.now() / 1000 + 2);
    expect(answer.headers.get('Retry-After')).toBeNull();
    expect(await spent(caller)).toEqual({ tokens: 1, credits });
  });

  test('500 search-failed costs a token and a credit', async () => {
    const caller = await newCaller();
    const { table } = (await readDirectory(api.sql)).current;
    if (mode === 'full') api.proxies.elasticsearch.down();
    else await api.sql`ALTER TABLE ${api.sql(table)} RENAME TO hidden`;
    // No earlier query begins like this one, because answers are cached while their index is the current one.
    const answer = await ask(api, '/companies?q=zircao', { key: caller.key }).finally(async () => {
      if (mode === 'full') api.proxies.elasticsearch.up();
      else await api.sql`ALTER TABLE hidden RENAME TO ${api.sql(table)}`;
    });
    expect([answer.status, answer.kind]).toEqual([500, 'search-failed']);
    expect(answer.headers.get('RateLimit-Remaining')).toBe(String(PER_MINUTE - 1));
    expect(await spent(caller)).toEqual({ tokens: 1, credits: 1 });
  });

  test('401 unauthorized: every token that is no valid key is answered alike, any other header with its form; it costs nothing', async () => {
    const caller = await newCaller({ plan: 'plus' });
    const suspended = await newCaller();
    await setSuspended(api.sql, suspended.accountId, true, 'test');
    const { secret: revoked, id: revokedId } = (
      await api.command('key', 'create', caller.accountId, '--json')
    ).json;
    expect((await api.command('key', 'revoke', revokedId)).code).toBe(0);
    const expired = await newCaller();
    await api.sql`UPDATE api_keys SET expires_at = now() WHERE account_id = ${expired.accountId}`;
    const rotated = await newCaller();
    const [rotatedKey] = await api.sql`SELECT id FROM api_keys WHERE account_id = ${rotated.accountId}`;
    expect((await api.command('key', 'rotate', rotatedKey!.id, '--overlap', '0')).code).toBe(0);
    const { key } = caller;
    // Of the forms of a header that are no key, keys/authenticate.test.ts has the others.
    const wrong: Record<string, string>[] = [
      {},
      { Authorization: key },
      { Authorization: `Basic ${btoa(`${key}:`)}` },
      { Authorization: `Bearer ${generateSecret()}` },
      { Authorization: `Bearer ${revoked}` },
      { Authorization: `Bearer ${expired.key}` },
      { Authorization: `Bearer ${rotated.key}` },
      { Authorization: `Bearer ${suspended.key}` },
      { Authorization: `Bearer ${'x'.repeat(8000)}` },
      { Authorization: `Bearer x${' '.repeat(8000)}x` },
      { Authorization: 'Bearer ' },
      { 'X-API-Key': key },
      { Cookie: `Authorization=Bearer ${key}` },
    ];
    const details = new Set<string>();
    for (const headers of wrong) {
      for (const path of ['/usage', `/companies/${FOUND}`, '/companies']) {
        const answer = await ask(api, path, { headers });
        expect([headers.Authorization, answer.status, answer.kind]).toEqual([
          headers.Authorization,
          401,
          'unauthorized',
        ]);
        // The agents' address says where to sign in (docs/mcp.md).
        expect(answer.headers.get('WWW-Authenticate')).toMatch(
          way === 'MCP' ? /^Bearer (?:error="invalid_token", )?resource_metadata="http[^"]+"$/ : /^Bearer$/,
        );
        expect(answer.headers.get('RateLimit-Limit')).toBeNull();
        const isToken = /^bearer +[^ ]/i.test(headers.Authorization ?? '');
        details.add(`${isToken} ${answer.body.detail}`);
      }
    }
    expect([...details]).toEqual([
      'false The header Authorization is missing or has another form. It looks so: Authorization: Bearer svc_…',
      'true The key is unknown, revoked or expired, or its account is suspended.',
    ]);
    expect(await spent(caller)).toEqual({ tokens: 0, credits: 0 });
    expect(await api.ledger(suspended)).toEqual({ used: 0, credits: 0 });
  });

  test('the scheme of the key is matched without regard to case', async () => {
    const { key } = await newCaller();
    for (const scheme of ['bearer', 'BEARER', 'bEaReR', 'Bearer ']) {
      const answer = await ask(api, '/usage', { headers: { Authorization: `${scheme} ${key}` } });
      expect([scheme, answer.status]).toEqual([scheme, 200]);
    }
  });

  test('429 rate-limit-exceeded costs no credit, and says how long to wait', async () => {
    // The bucket comes before the credits, of which there are none, and both before the input.
    const caller = await newCaller({ limits: { requestsPerMinute: 1 }, included: 0 });
    expect((await ask(api, '/usage', { key: caller.key })).status).toBe(200);
    const sinceS = Date.now() / 1000;
    for (const path of ['/companies', '/companies/1', `/companies/${FOUND}`, '/usage', '/datasets']) {
      const answer = await ask(api, path, { key: caller.key });
      expect([answer.status, answer.kind]).toEqual([429, 'rate-limit-exceeded']);
      expect(answer.headers.get('RateLimit-Limit')).toBe('1');
      expect(answer.headers.get('RateLimit-Remaining')).toBe('0');
      // A token is there a minute after the first request.
      expect(Number(answer.headers.get('Retry-After'))).toBeWithin(30, 61);
      expect(Number(answer.headers.get('RateLimit-Reset'))).toBeWithin(sinceS + 30, sinceS + 62);
      expect(Object.keys(answer.body).sort()).toEqual(['detail', 'scope', 'status', 'title', 'type']);
    }
    expect(await api.ledger(caller)).toEqual({ used: 0, credits: 0 });
  });

  test('429 monthly-quota-exceeded costs a token and no credit, and names the reset', async () => {
    const caller = await newCaller({ included: 2 });
    for (let i = 0; i < 2; i++) await ask(api, '/companies?q=empresa', { key: caller.key });
    const sinceMs = Date.now();
    const refused = await ask(api, `/companies/${FOUND}`, { key: caller.key });
    const untilMs = Date.now();
    expect([refused.status, refused.kind]).toEqual([429, 'monthly-quota-exceeded']);
    const now = new Date();
    const reset = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
    const { type, title, status, detail, ...members } = refused.body;
    expect(members).toEqual({ quota: 'monthly_credits', limit: 2, reset: reset.toISOString() });
    expect([type, status]).toEqual([`${api.baseUrl}/problems/monthly-quota-exceeded`, 429]);
    expect([typeof title, typeof detail]).toEqual(['string', 'string']);
    const answeredMs = reset.getTime() - Number(refused.headers.get('Retry-After')) * 1000;
    expect(answeredMs).toBeWithin(sinceMs - 2000, untilMs + 2000);
    expect(refused.headers.get('RateLimit-Remaining')).toBe(String(PER_MINUTE - 3));
    // A validation failure is not seen before the quota: there is no credit to spend on it.
    expect((await ask(api, '/companies', { key: caller.key })).kind).toBe('monthly-quota-exceeded');
    expect(await spent(caller)).toEqual({ tokens: 4, credits: 2 });
    expect((await ask(api, '/datasets', { key: caller.key })).status).toBe(200);
  });

  if (way === 'REST') {
    test("a connection on which requests don't wait for each other is closed by Bun, and costs no credit", async () => {
      const { accountId, key } = await api.caller({ limits: { requestsPerMinute: 100_000 }, included: 10 });
      const request = `GET /api/v1/companies?q=empresa HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
      for (let round = 0; round < 10; round += 1) {
        expect(await sendRaw(api, request.repeat(3))).not.toContain('200 OK');
      }
      expect((await ask(api, '/companies?q=empresa', { key })).status).toBe(200);
      expect(await ledgerOf(api.sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
    });

    // A tool has no path and no method.
    test('404 not-found and 405 method-not-allowed ask for no key and cost nothing', async () => {
      const caller = await newCaller();
      for (const key of [null, 'svc_wrong', caller.key]) {
        for (const path of [
          '',
          '/',
          ...['/nothing', '/companies/', `/companies/${FOUND}/`, '/usage/', '/companies/1/2'],
        ]) {
          const answer = await ask(api, path, { key });
          expect([path, answer.status, answer.kind]).toEqual([path, 404, 'not-found']);
        }
        for (const method of ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          for (const path of new Set(API_ROUTES.map((route) => route.path.replace(':nif', FOUND)))) {
            const allowed = API_ROUTES.filter((route) => route.path.replace(':nif', FOUND) === path).map(
              methodOf,
            );
            if (allowed.includes(method as 'GET')) continue;
            const answer = await ask(api, path, { key, method });
            const allow = answer.headers.get('Allow');
            expect([method, path, answer.status, allow]).toEqual([method, path, 405, allowed.join(', ')]);
            if (method !== 'HEAD') expect(answer.kind).toBe('method-not-allowed');
            expect(answer.headers.get('RateLimit-Limit')).toBeNull();
          }
        }
      }
      expect(await spent(caller)).toEqual({ tokens: 0, credits: 0 });
    });
  }
});
