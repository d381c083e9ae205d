/** The endpoints that take a list share the rules of its body, its price and its refusals. */
import { afterAll, describe, expect, test } from 'bun:test';
import { startApi } from '../support/api.ts';
import { ask, keepSecret, linesSince } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { storeRecord } from '../support/records.ts';

const plenty = { limits: { requestsPerMinute: 100_000 }, included: 10_000 };
const JSON_TYPE = { 'Content-Type': 'application/json' };

const api = await startApi({ directory: `nif,legal_name\n${nif(1)},Primeira` });
await storeRecord(api.sql, nif(1), 'Primeira');
afterAll(() => api.stop());

interface List {
  path: string;
  member: 'nifs' | 'names';
  item: string;
  /** An item that is not valid. */
  bad: string;
  most: number;
  kind: string;
  allow: string;
}
const LISTS: List[] = [
  { path: '/lookups', member: 'nifs', item: nif(1), bad: 'abc', most: 100, kind: 'lookup', allow: 'POST' },
  { path: '/debts', member: 'nifs', item: nif(1), bad: 'abc', most: 1000, kind: 'debts', allow: 'POST' },
  {
    path: '/resolutions',
    member: 'names',
    item: 'primeiira',
    bad: '',
    most: 100,
    kind: 'resolve',
    allow: 'POST',
  },
];

/** Bodies that are not valid, with `nifs` as the list's name. */
const BODIES: [name: string, body: (list: List) => string | Uint8Array, type?: string][] = [
  ['is absent', () => ''],
  ['is no JSON', () => '{"nifs":["500002576"]'],
  ['is no object', () => '["500002576"]'],
  ['is null', () => 'null'],
  ['has no list', () => '{"nif":"500002576"}'],
  ['has a text for a list', () => '{"nifs":"500002576"}'],
  ['has an empty list', () => '{"nifs":[]}'],
  ['has too long a list', ({ most }) => JSON.stringify({ nifs: Array(most + 1).fill('500002576') })],
  ['has an item that is a number of eight digits', () => '{"nifs":["500002576",50000257]}'],
  ['has an item that is null', () => '{"nifs":["500002576",null]}'],
  ['is nested deeply', () => '['.repeat(60_000)],
  ['is over 64 KiB', () => JSON.stringify({ nifs: ['500002576'], more: 'x'.repeat(64 * 1024) })],
  ['is far over 64 KiB', () => JSON.stringify({ nifs: ['500002576'], more: 'x'.repeat(200_000) })],
  ['is not UTF-8', () => Buffer.from('{"nifs":["500002576"],"more":"\xff"}', 'latin1')],
  ['has another content type', () => '{"nifs":["500002576"]}', 'text/plain'],
  ['has a content type that only begins so', () => '{"nifs":["500002576"]}', 'application/jsonl'],
  ['has none', () => '{"nifs":["500002576"]}', ''],
];

describe.each(LISTS)('POST $path', (list) => {
  const { path, member, item, bad, most, kind, allow } = list;
  const post = (key: string | null, body: string, headers: Record<string, string> = JSON_TYPE) =>
    ask(api, path, { key, method: 'POST', headers, body });
  const send = (key: string, items: string[]) => post(key, JSON.stringify({ [member]: items }));
  const statuses = (body: { data: { status: number }[] }) => body.data.map(({ status }) => status);
  const remaining = ({ headers }: { headers: Headers }) => Number(headers.get('RateLimit-Remaining'));

  test('costs one token, and one credit an item; included credits go first', async () => {
    const { accountId, key } = await api.caller({ ...plenty, included: 3, credits: 10 });
    const before = remaining(await ask(api, '/usage', { key }));
    const answer = await send(key, [item, bad, item, item, item]);
    expect([answer.status, statuses(answer.body)]).toEqual([200, [200, 400, 200, 200, 200]]);
    expect(before - remaining(answer)).toBeWithin(0, 2);
    expect(await api.ledger({ accountId })).toEqual({ used: 5, credits: 8 });
    const calls = await api.sql`SELECT kind, calls FROM calls_by_day WHERE account_id = ${accountId}`;
    expect(calls.map((row) => ({ ...row }))).toEqual([{ kind, calls: 5 }]);
  });

  test(`takes ${most} items`, async () => {
    const { accountId, key } = await api.caller(plenty);
    expect(statuses((await send(key, Array(most).fill(item))).body)).toEqual(Array(most).fill(200));
    expect((await api.ledger({ accountId })).used).toBe(most);
  });

  test('an account without included credits is not told that they come back', async () => {
    const { key } = await api.caller({ ...plenty, included: 0 });
    const { status, body } = await send(key, [item]);
    expect([status, body.detail]).toEqual([429, 'The account has no included credits.']);
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
      expect(body).toMatchObject({ quota: 'monthly_credits', limit: 0 });
      expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    expect((await api.ledger({ accountId })).used).toBe(0);
  });

  test.each(BODIES.map(([name, body, type = 'application/json']) => [name, body, type] as const))(
    'a body that %s is a validation that costs a token and one credit',
    async (_, body, type) => {
      const { accountId, key } = await api.caller({ limits: { requestsPerMinute: 1 } });
      const given = body(list);
      const named =
        typeof given === 'string' ? given.replace('"nifs"', `"${member}"`) : (given as unknown as string);
      const answer = await post(key, named, { 'Content-Type': type });
      expect([answer.status, answer.kind, remaining(answer)]).toEqual([400, 'validation', 0]);
      expect(await api.ledger({ accountId })).toEqual({ used: 1, credits: 0 });
    },
  );

  test('another method is a 405 and no key a 401, for nothing', async () => {
    const { accountId, key } = await api.caller(plenty);
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'].filter(
      (each) => !allow.includes(each),
    )) {
      const { status, headers } = await ask(api, path, { key, method });
      expect([method, status, headers.get('Allow')]).toEqual([method, 405, allow]);
    }
    for (const wrong of [null, 'svc_wrong']) {
      for (const body of ['', JSON.stringify({ [member]: [item] })])
        expect((await post(wrong, body)).kind).toBe('unauthorized');
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
    const metrics = await (await fetch(`${api.baseUrl}/metrics`)).text();
    expect(metrics).toContain(`http_requests_total{route="${route}",status="200"} `);
  });
});
