import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ledgerOf } from '../metering/credits/ledger.ts';
import { type Api, startApi } from '../support/api.ts';
import { sendRaw } from '../support/client.ts';
import { csv, nif } from '../support/companies.ts';
import { CASES, WAYS } from '../support/mcp.ts';
import '../support/modes.ts';
import { nifPtFound } from '../support/provider.ts';

const FOUND = nif(1);

describe.each(CASES)('metering over HTTP (%s, %s)', (mode, way) => {
  const ask = WAYS[way];
  let api: Api;
  beforeAll(async () => {
    api = await startApi({ mode, directory: csv(1, 3) });
    api.provider.answer(FOUND, nifPtFound(FOUND));
  });
  afterAll(() => api.stop());
  const plenty = { limits: { requestsPerMinute: 100_000 } };

  test('included credits go first, then purchased ones; usage is exact after every call', async () => {
    const { key } = await api.caller({ ...plenty, included: 3, credits: 2 });
    const paths = [
      '/companies?q=empresa',
      `/companies/${FOUND}`,
      '/companies',
      '/companies/1',
      '/companies?q=x',
    ];
    for (const [index, path] of paths.entries()) {
      expect((await ask(api, path, { key })).status).not.toBe(429);
      const { data } = (await ask(api, '/usage', { key })).body;
      const used = index + 1;
      expect([data.quotas.requests.used, data.credits]).toEqual([used, Math.min(2, 5 - used)]);
    }
    for (const path of paths) expect((await ask(api, path, { key })).kind).toBe('monthly-quota-exceeded');
    const { status, body } = await ask(api, '/usage', { key });
    expect(status).toBe(200);
    expect([body.data.quotas.requests, body.data.credits]).toEqual([{ used: 5, limit: 3, unit: 'calls' }, 0]);
  });

  test('all keys of an account share its bucket and its credits', async () => {
    const { accountId, key } = await api.caller({ limits: { requestsPerMinute: 6 }, included: 2 });
    const other = (await api.command('key', 'create', accountId, '--json')).json.secret;
    const statuses: [number, string | null][] = [];
    for (const each of [key, other, key, other, key, other, key, other]) {
      const { status, kind } = await ask(api, '/companies?q=empresa', { key: each });
      statuses.push([status, kind]);
    }
    expect(statuses).toEqual([
      [200, null],
      [200, null],
      ...Array.from({ length: 4 }, (): [number, string] => [429, 'monthly-quota-exceeded']),
      [429, 'rate-limit-exceeded'],
      [429, 'rate-limit-exceeded'],
    ]);
  });

  if (way === 'REST') {
    test("a connection on which requests don't wait for each other is closed by Bun, and costs no credit", async () => {
      const { accountId, key } = await api.caller({ ...plenty, included: 10 });
      const request = `GET /api/v1/companies?q=empresa HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
      for (let round = 0; round < 10; round += 1) {
        expect(await sendRaw(api, request.repeat(3))).not.toContain('200 OK');
      }
      expect((await ask(api, '/companies?q=empresa', { key })).status).toBe(200);
      expect(await ledgerOf(api.sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
    });
  }

  test('the order: key, then bucket, then credit, then the handler', async () => {
    // No credit, one token, and a request that its handler would refuse.
    const { key } = await api.caller({ limits: { requestsPerMinute: 1 }, included: 0 });
    expect((await ask(api, '/companies', { key: 'svc_wrong' })).kind).toBe('unauthorized');
    expect((await ask(api, '/companies', { key })).kind).toBe('monthly-quota-exceeded');
    expect((await ask(api, '/companies', { key })).kind).toBe('rate-limit-exceeded');
    expect((await ask(api, '/companies', { key: 'svc_wrong' })).kind).toBe('unauthorized');
  });

  test('added credits are there at once', async () => {
    const { accountId, key } = await api.caller({ ...plenty, included: 0 });
    expect((await ask(api, '/companies?q=empresa', { key })).kind).toBe('monthly-quota-exceeded');
    const { code, json } = await api.command('account', 'credits', accountId, '--add', '2', '--json');
    expect([code, json]).toEqual([0, { id: accountId, credits: 2 }]);
    expect((await ask(api, '/companies?q=empresa', { key })).status).toBe(200);
    expect((await ask(api, '/usage', { key })).body.data.credits).toBe(1);
  });

  test('300 requests at once on an account with 137 left are answered exactly 137 times', async () => {
    const { accountId, key } = await api.caller({ ...plenty, included: 100, credits: 37 });
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        ask(api, i % 2 === 0 ? '/companies?q=empresa' : `/companies/${FOUND}`, { key }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(137);
    expect(answers.filter(({ kind }) => kind === 'monthly-quota-exceeded')).toHaveLength(163);
    expect(await api.ledger({ accountId })).toEqual({ used: 137, credits: 0 });
  });

  test('50 requests at once on a bucket of 20 are answered exactly 20 times', async () => {
    const { accountId, key } = await api.caller();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => ask(api, '/companies?q=empresa', { key })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(answers.filter(({ kind }) => kind === 'rate-limit-exceeded')).toHaveLength(30);
    const left = answers
      .filter(({ status }) => status === 200)
      .map(({ headers }) => Number(headers.get('RateLimit-Remaining')))
      .sort((a, b) => a - b);
    expect(left).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect((await api.ledger({ accountId })).used).toBe(20);
  });
});
