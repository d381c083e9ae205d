/** The endpoints that take a list share the rules of its body, its price and its refusals. Those of POST /lookups alone stand below. */
import { afterAll, describe, expect, test } from 'bun:test';
import { type Instance, PLENTY, startApi } from '../support/api.ts';
import { ask, keepSecret, tokensOf } from '../support/ask.ts';
import { requestText, sendText } from '../support/client.ts';
import { nif } from '../support/companies.ts';
import { nifPtFound, nifPtNotFound } from '../support/provider.ts';
import { setAge, storeRecord } from '../support/records.ts';
import { until } from '../support/until.ts';

const [FRESH, SECOND_FRESH, STALE, ABSENT] = [nif(1), nif(2), nif(3), nif(4)];
const WRONG_CHECK_DIGIT = '500002577';

const api = await startApi({ directory: `nif,legal_name\n${FRESH},Primeira` });
api.provider.answerAll((number) =>
  number === ABSENT ? nifPtNotFound() : nifPtFound(number, { title: `Nova ${number}` }),
);
await storeRecord(api.sql, FRESH, 'Primeira "A", Lda');
await storeRecord(api.sql, SECOND_FRESH, 'Segunda');
await storeRecord(api.sql, STALE, 'Antiga');
await setAge(api.sql, STALE, 7 * 86_400);
keepSecret('Primeira', 'Segunda', 'Antiga', 'primeiira', 'unsaid text');
afterAll(() => api.stop());

/** `bad` is an item that is not valid. */
const LISTS = [
  { path: '/lookups', member: 'nifs', item: FRESH, bad: 'unsaid text', most: 100 },
  { path: '/debts', member: 'nifs', item: FRESH, bad: 'unsaid text', most: 1000 },
  { path: '/resolutions', member: 'names', item: 'primeiira', bad: '', most: 100 },
];

describe.each(LISTS)('POST $path', ({ path, member, item, bad, most }) => {
  /** With a further parameter of the content type, which changes nothing. */
  const headers = { 'Content-Type': 'Application/JSON; charset=utf-8' };
  const send = (key: string, items: string[]) =>
    ask(api, path, { key, method: 'POST', headers, body: JSON.stringify({ [member]: items }) });
  const statuses = (body: { data: { status: number }[] }) => body.data.map(({ status }) => status);

  test('costs one token, and one credit an item; included credits go first', async () => {
    const { accountId, key } = await api.caller({ ...PLENTY, included: 3, credits: 10 });
    const before = tokensOf(await ask(api, '/usage', { key }));
    const answer = await send(key, [item, bad, item, item, item]);
    expect([answer.status, statuses(answer.body)]).toEqual([200, [200, 400, 200, 200, 200]]);
    expect(before - tokensOf(answer)).toBeWithin(0, 2);
    expect(await api.ledger({ accountId })).toEqual({ used: 5, credits: 8 });
  });

  test(`takes ${most} items`, async () => {
    const { accountId, key } = await api.caller(PLENTY);
    expect(statuses((await send(key, Array(most).fill(item))).body)).toEqual(Array(most).fill(200));
    expect((await api.ledger({ accountId })).used).toBe(most);
  });

  test('credits for some items only: the first ones get them, the others are refused in their place', async () => {
    const { accountId, key } = await api.caller({ ...PLENTY, included: 1, credits: 2 });
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
    const { accountId, key } = await api.caller({ ...PLENTY, included: 0 });
    const single = await ask(api, `/companies/${FRESH}`, { key });
    for (const items of [[item, item], [bad], []]) {
      const { status, body, headers } = await send(key, items);
      expect([status, body]).toEqual([429, single.body]);
      const detail = 'The account has no included credits.';
      expect(body).toMatchObject({ quota: 'monthly_credits', limit: 0, detail });
      expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    expect((await api.ledger({ accountId })).used).toBe(0);
  });
});

/** Of NIFs that no other test has used. */
let next = 1000;
const newNifs = (count: number) => Array.from({ length: count }, () => nif(next++));

const lookUp = (key: string, nifs: unknown, at: Instance = api) =>
  ask(at, '/lookups', { key, json: { nifs } });
const single = (key: string, number: string) => ask(api, `/companies/${encodeURIComponent(number)}`, { key });
/** The title or the kind of problem of each element, in their order. */
const outcomes = (body: { data: { problem?: { type: string }; company?: { title: string } }[] }) =>
  body.data.map(({ problem, company }) => company?.title ?? problem!.type.split('/').at(-1)!);
const asked = (number: string) => api.provider.lookups().filter((request) => request.nif === number).length;

describe('the answer', () => {
  test('has one element an item, in the order asked, with what the single lookup answers for each', async () => {
    const { accountId, key } = await api.caller(PLENTY);
    const nifs = [STALE, WRONG_CHECK_DIGIT, FRESH, ABSENT, 'abc', SECOND_FRESH];
    const { status, headers, body } = await lookUp(key, nifs);
    expect(status).toBe(200);
    expect(['Content-Type', 'X-Record-Source', 'Last-Modified'].map((name) => headers.get(name))).toEqual([
      ...['application/json', null, null],
    ]);
    expect(Object.keys(body)).toEqual(['data']);
    expect(body.data.map((item: { nif: string }) => item.nif)).toEqual(nifs);
    expect((await api.ledger({ accountId })).used).toBe(nifs.length);
    for (const [index, number] of nifs.entries()) {
      const alone = await single(key, number);
      const expected = { nif: number, status: alone.status };
      expect(body.data[index]).toEqual(
        alone.status === 200
          ? { ...expected, company: alone.body.data }
          : { ...expected, problem: alone.body },
      );
    }
    expect(outcomes(body)).toEqual([
      `Nova ${STALE}`,
      'validation',
      'Primeira "A", Lda',
      'company-not-found',
      'validation',
      'Segunda',
    ]);
  });
});

describe('a body in chunks', () => {
  const CHUNK = `1f40\r\n${' '.repeat(8000)}\r\n`;
  const inChunks = (key: string, chunks: number) => {
    const sent = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
    const headers = { Authorization: `Bearer ${key}`, ...sent };
    return requestText('POST /api/v1/lookups', headers, `${CHUNK.repeat(chunks)}0\r\n\r\n`);
  };

  // A reset on the way can take the answer of Bun with it.
  const BY_BUN = /^(HTTP\/1\.1 413|$)/;
  test.each([
    [12, 'a validation', /^HTTP\/1\.1 400 .*\/problems\/validation.*The body is over 64 KiB\./s, 1],
    [33, 'too large for Bun, which answers itself', BY_BUN, 0],
    [400, 'too large for Bun', BY_BUN, 0],
  ])('of %d is %s', async (chunks, _name, expected, cost) => {
    const { accountId, key } = await api.caller(PLENTY);
    const from = api.logLines.length;
    const { closed } = await sendText(api.baseUrl, inChunks(key, chunks));
    expect(await closed).toMatch(expected);
    await until('the end of the request', () => api.logLines.length > from);
    await lookUp(key, [FRESH]);
    expect((await api.ledger({ accountId })).used).toBe(cost + 1);
  });
});

describe('refreshes', () => {
  test('are ten at most; further companies are unavailable in their place, and free', async () => {
    const { accountId, key } = await api.caller(PLENTY);
    const numbers = newNifs(12);
    const nifs = [FRESH, ...numbers, numbers[0], 'abc', numbers[11], SECOND_FRESH];
    const { body } = await lookUp(key, nifs);
    const expected = [
      'Primeira "A", Lda',
      ...numbers.slice(0, 10).map((number) => `Nova ${number}`),
      'service-unavailable',
      'service-unavailable',
      `Nova ${numbers[0]}`,
      'validation',
      'service-unavailable',
      'Segunda',
    ];
    expect(outcomes(body)).toEqual(expected);
    expect([body.data[11].status, body.data[11].problem.retryAfter]).toEqual([503, 1]);
    expect((await api.ledger({ accountId })).used).toBe(14);
    expect(numbers.map(asked)).toEqual([...Array(10).fill(1), 0, 0]);
    // Asked for again, they are refreshed.
    expect(outcomes((await lookUp(key, numbers)).body)).toEqual(numbers.map((number) => `Nova ${number}`));
  });

  test('when the credits end, the items after that are over the quota, whatever else is wrong with them', async () => {
    const { accountId, key } = await api.caller({ ...PLENTY, included: 5 });
    const numbers = newNifs(12);
    const { body } = await lookUp(key, numbers);
    expect(outcomes(body)).toEqual([
      ...numbers.slice(0, 5).map((number) => `Nova ${number}`),
      ...Array(7).fill('monthly-quota-exceeded'),
    ]);
    expect((await api.ledger({ accountId })).used).toBe(5);
    expect(numbers.map(asked)).toEqual([...Array(5).fill(1), ...Array(7).fill(0)]);
  });

  test('that no provider answers end within the bound of a single lookup, and fresh records are answered', async () => {
    const { accountId, key } = await api.caller(PLENTY);
    // A new instance, because the breakers of this one have seen ten time-outs then.
    const instance = await api.startInstance({ PROVIDER_TIMEOUT_MS: '1000' });
    api.provider.hold();
    try {
      const { body } = await lookUp(key, [FRESH, ...newNifs(11), SECOND_FRESH], instance);
      expect(outcomes(body)).toEqual([
        'Primeira "A", Lda',
        ...Array(10).fill('company-lookup-failed'),
        'service-unavailable',
        'Segunda',
      ]);
      expect((await api.ledger({ accountId })).used).toBe(12);
    } finally {
      api.provider.release();
      await instance.stop();
    }
  });
});
