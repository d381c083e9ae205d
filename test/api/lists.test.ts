/** The endpoints that take a list share the rules of its body, its price and its refusals. */
import { afterAll, describe, expect, test } from 'bun:test';
import { startApi } from '../support/api.ts';
import { ask, keepSecret, linesSince, tokensOf } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { readMetrics } from '../support/metrics.ts';
import { storeRecord } from '../support/records.ts';

const plenty = { limits: { requestsPerMinute: 100_000 }, included: 10_000 };

const api = await startApi({ directory: `nif,legal_name\n${nif(1)},Primeira` });
await storeRecord(api.sql, nif(1), 'Primeira');
afterAll(() => api.stop());

/** `bad` is an item that is not valid. */
const LISTS = [
  { path: '/lookups', member: 'nifs', item: nif(1), bad: 'abc', most: 100, kind: 'lookup' },
  { path: '/debts', member: 'nifs', item: nif(1), bad: 'abc', most: 1000, kind: 'debts' },
  { path: '/resolutions', member: 'names', item: 'primeiira', bad: '', most: 100, kind: 'resolve' },
];

describe.each(LISTS)('POST $path', ({ path, member, item, bad, most, kind }) => {
  /** With a further parameter of the content type, which changes nothing. */
  const headers = { 'Content-Type': 'Application/JSON; charset=utf-8' };
  const send = (key: string, items: string[]) =>
    ask(api, path, { key, method: 'POST', headers, body: JSON.stringify({ [member]: items }) });
  const statuses = (body: { data: { status: number }[] }) => body.data.map(({ status }) => status);

  test('costs one token, and one credit an item; included credits go first', async () => {
    const { accountId, key } = await api.caller({ ...plenty, included: 3, credits: 10 });
    const before = tokensOf(await ask(api, '/usage', { key }));
    const answer = await send(key, [item, bad, item, item, item]);
    expect([answer.status, statuses(answer.body)]).toEqual([200, [200, 400, 200, 200, 200]]);
    expect(before - tokensOf(answer)).toBeWithin(0, 2);
    expect(await api.ledger({ accountId })).toEqual({ used: 5, credits: 8 });
    const calls = await api.sql`SELECT kind, calls FROM calls_by_day WHERE account_id = ${accountId}`;
    expect(calls.map((row) => ({ ...row }))).toEqual([{ kind, calls: 5 }]);
  });

  test(`takes ${most} items`, async () => {
    const { accountId, key } = await api.caller(plenty);
    expect(statuses((await send(key, Array(most).fill(item))).body)).toEqual(Array(most).fill(200));
    expect((await api.ledger({ accountId })).used).toBe(most);
  });

  test('credits for some items only: the first ones get them, the others are refused in their place', async () => {
    const { accountId, key } = await api.caller({ ...plenty, included: 1, credits: 2 });
    const { body } = await send(key, [bad, item, item, item, bad]);
    expect(statuses(body)).toEqual([400, 200, 200, 429, 429]);
    expect(body.data[3].problem).toEqual({
      type: `${api.baseUrl}/problems/monthly-quota-exceeded`,
      title: expect.any(String),
      status: 429,
      detail: expect.stringMatching(/again at \d{4}-\d\d-01T00:00:00.000Z/),
      ...{ quota: 'monthly_credits', limit: 1 },
      reset: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00.000Z$/),
    });
    expect(await api.ledger({ accountId })).toEqual({ used: 3, credits: 0 });
  });

  test('no credit at all: the whole answer is the 429 of a single lookup', async () => {
    const { accountId, key } = await api.caller({ ...plenty, included: 0 });
    const single = await ask(api, `/companies/${nif(1)}`, { key });
    for (const items of [[item, item], [bad], []]) {
      const { status, body, headers } = await send(key, items);
      expect([status, body]).toEqual([429, single.body]);
      const detail = 'The account has no included credits.';
      expect(body).toMatchObject({ quota: 'monthly_credits', limit: 0, detail });
      expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    expect((await api.ledger({ accountId })).used).toBe(0);
  });

  test('it is logged and counted under its route, and nothing of its body is', async () => {
    const { accountId, keyId, key } = await api.caller(plenty);
    const from = api.logLines.length;
    keepSecret('unsaid text', 'Primeira');
    await send(key, [item, 'unsaid text']);
    const route = `/api/v1${path}`;
    const line = { msg: 'request', method: 'POST', route, status: 200, account: accountId, key_id: keyId };
    expect(linesSince(api, from)).toEqual([expect.objectContaining(line)]);
    expect(await readMetrics(api)).toContainKey(`http_requests_total{route="${route}",status="200"}`);
  });
});
