/** POST /lookups over HTTP: every sentence of docs/api.md about it. */
import { afterAll, describe, expect, test } from 'bun:test';
import { type Instance, startApi } from '../support/api.ts';
import { ask, keepSecret } from '../support/ask.ts';
import { sendRaw, sendText } from '../support/client.ts';
import { nif } from '../support/companies.ts';
import { nifPtFound, nifPtNotFound } from '../support/provider.ts';
import { setAge, storeRecord } from '../support/records.ts';
import { until } from '../support/until.ts';

const PROVIDER_TIMEOUT_MS = 1000;
const [FRESH, SECOND_FRESH, STALE, ABSENT] = [nif(1), nif(2), nif(3), nif(4)];
const WRONG_CHECK_DIGIT = '500002577';
const plenty = { limits: { requestsPerMinute: 100_000 } };

/** Of NIFs that no other test has used. */
let next = 1000;
const newNifs = (count: number) => Array.from({ length: count }, () => nif(next++));

const api = await startApi({ env: { PROVIDER_TIMEOUT_MS: String(PROVIDER_TIMEOUT_MS) } });
api.provider.answerAll((number) =>
  number === ABSENT ? nifPtNotFound() : nifPtFound(number, { title: `Nova ${number}` }),
);
await storeRecord(api.sql, FRESH, 'Primeira "A", Lda');
await storeRecord(api.sql, SECOND_FRESH, 'Segunda');
await storeRecord(api.sql, STALE, 'Antiga');
await setAge(api.sql, STALE, 7 * 86_400);
keepSecret('Primeira', 'Segunda', 'Antiga');
afterAll(() => api.stop());

const lookUp = (key: string, nifs: unknown, at: Instance = api) =>
  ask(at, '/lookups', { key, json: { nifs } });
const single = (key: string, number: string) => ask(api, `/companies/${encodeURIComponent(number)}`, { key });
/** The title or the kind of problem of each element, in their order. */
const outcomes = (body: { data: { problem?: { type: string }; company?: { title: string } }[] }) =>
  body.data.map(({ problem, company }) => company?.title ?? problem!.type.split('/').at(-1)!);
const asked = (number: string) => api.provider.lookups().filter((request) => request.nif === number).length;

describe('the answer', () => {
  test('has one element an item, in the order asked, with what the single lookup answers for each', async () => {
    const { accountId, key } = await api.caller(plenty);
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

  test('has in `company` the bytes that the single lookup has in `data`', async () => {
    const { key } = await api.caller(plenty);
    const authorization = { Authorization: `Bearer ${key}` };
    const alone = await (await fetch(`${api.url}/companies/${FRESH}`, { headers: authorization })).text();
    const batch = await fetch(`${api.url}/lookups`, {
      method: 'POST',
      headers: { ...authorization, 'Content-Type': 'application/json' },
      body: JSON.stringify({ nifs: [FRESH] }),
    });
    const company = alone.slice('{"result":"success","data":'.length, -1);
    expect(await batch.text()).toBe(`{"data":[{"nif":"${FRESH}","status":200,"company":${company}}]}`);
  });
});

test('a repeated NIF costs a credit each time, and one refresh', async () => {
  const { accountId, key } = await api.caller(plenty);
  const [number] = newNifs(1);
  const { body } = await lookUp(key, Array(15).fill(number));
  expect(outcomes(body)).toEqual(Array(15).fill(`Nova ${number}`));
  expect((await api.ledger({ accountId })).used).toBe(15);
  expect(asked(number!)).toBe(1);
});

describe('a body in chunks', () => {
  const CHUNK = `1f40\r\n${' '.repeat(8000)}\r\n`;
  const inChunks = (key: string, chunks: number) =>
    [
      'POST /api/v1/lookups HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${key}`,
      'Connection: close',
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
      `\r\n${CHUNK.repeat(chunks)}0\r\n\r\n`,
    ].join('\r\n');

  test('over 64 KiB is a validation that costs a credit', async () => {
    const { accountId, key } = await api.caller(plenty);
    const answer = await sendRaw(api, inChunks(key, 12));
    expect(answer).toStartWith('HTTP/1.1 400');
    expect(answer).toContain('/problems/validation');
    expect(answer).toContain('The body is over 64 KiB.');
    expect((await api.ledger({ accountId })).used).toBe(1);
  });

  test.each([33, 38, 400])(
    'of %d chunks is too large for Bun, which answers itself: no credit',
    async (chunks) => {
      const { accountId, key } = await api.caller(plenty);
      const from = api.logLines.length;
      const { closed } = await sendText(api.baseUrl, inChunks(key, chunks));
      // A reset on the way can take the answer with it.
      expect(await closed).toMatch(/^(HTTP\/1\.1 413|$)/);
      await until('the end of the request', () => api.logLines.length > from);
      await lookUp(key, [FRESH]);
      expect((await api.ledger({ accountId })).used).toBe(1);
    },
  );
});

describe('refreshes', () => {
  test('are ten at most; further companies are unavailable in their place, and free', async () => {
    const { accountId, key } = await api.caller(plenty);
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
    const { accountId, key } = await api.caller({ ...plenty, included: 5 });
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
    const { accountId, key } = await api.caller(plenty);
    // A new instance, because the breakers of this one have seen ten time-outs then.
    const instance = await api.startInstance();
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
