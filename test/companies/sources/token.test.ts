/** The token of eInforma: how it is asked for, shared, renewed, and bounded by the time-out of a question. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { CompanySource } from '../../../src/companies/sources/source-types.ts';
import { einformaReport, jsonAnswer, type Provider, startProvider } from '../../support/provider.ts';
import {
  CLIENT_SECRET,
  clock,
  expectNothingOfTheirs,
  faultOf,
  NIF,
  sourceAt,
  timeoutOf,
} from './sources-support.ts';

let provider: Provider;
let source: CompanySource;
let time: ReturnType<typeof clock>;

beforeEach(async () => {
  provider = await startProvider();
  time = clock();
  source = sourceAt(provider, 'einforma', { now: time.now });
  provider.answerAll((nif) => einformaReport(nif));
});
afterEach(async () => {
  await source.close();
  await provider.close();
});

const tokenRequests = () => provider.requests.filter(({ kind }) => kind === 'einforma-token');
const tokensUsed = () => provider.lookups().map(({ headers }) => headers.authorization);

describe('the token', () => {
  test('is asked for with client credentials in a form, and used as a bearer token', async () => {
    await source.find(NIF);
    const [token, report] = provider.requests;
    expect([token!.method, token!.url.pathname]).toEqual(['POST', '/api/v1/oauth/token']);
    expect(token!.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Object.fromEntries(new URLSearchParams(token!.body))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client',
      client_secret: CLIENT_SECRET,
      scope: 'buscar:consultar:empresas',
    });
    expect([report!.method, report!.url.pathname]).toEqual(['GET', `/api/v1/companies/${NIF}/report`]);
    expect(report!.headers.authorization).toBe('Bearer token-1');
  });

  test.each([
    ['an hour, until shortly before it expires', 3600, 3600_000 - 30_000],
    ['a very short life, for half of it', '20', 10_000],
  ] as const)('of %s is used again', async (_, life, usedMs) => {
    provider.answerToken((nth) => ({ access_token: `token-${nth}`, expires_in: life }));
    await source.find(NIF);
    time.advance(usedMs - 1);
    await source.find(NIF);
    time.advance(1);
    await source.find(NIF);
    expect(tokensUsed()).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2']);
    expect(tokenRequests()).toHaveLength(2);
  });

  test('is asked for once by many who need it at once', async () => {
    provider.hold();
    const questions = Array.from({ length: 20 }, () => source.find(NIF));
    await provider.arrived(1);
    provider.release();
    await Promise.all(questions);
    expect(tokenRequests()).toHaveLength(1);
  });

  test('is renewed once when it is refused, whatever the refusal looks like', async () => {
    for (const refusal of [jsonAnswer({ error: 'expired' }, 401), { status: 401, body: '<html>no' }]) {
      provider.requests.length = 0;
      await source.find(NIF);
      const stale = tokensUsed()[0]!;
      provider.answerAll((nif, { headers }) =>
        headers.authorization === stale ? refusal : einformaReport(nif),
      );
      provider.requests.length = 0;
      expect(await source.find(NIF)).toMatchObject({ kind: 'found' });
      expect(provider.requests.map(({ kind }) => kind)).toEqual(['einforma', 'einforma-token', 'einforma']);
    }
  });

  test('is renewed once only, then the refusal is a fault', async () => {
    provider.answerAll(() => jsonAnswer({}, 401));
    expect((await faultOf(source.find(NIF))).reason).toBe('bad-key');
    expect(provider.requests).toHaveLength(4);
  });

  test('that many find refused at once is renewed once', async () => {
    await source.find(NIF);
    provider.answerAll((nif, { headers }) =>
      headers.authorization === 'Bearer token-1' ? jsonAnswer({}, 401) : einformaReport(nif),
    );
    await Promise.all(Array.from({ length: 20 }, () => source.find(NIF)));
    expect(tokenRequests()).toHaveLength(2);
  });

  test.each<[what: string, answer: ReturnType<Parameters<Provider['answerToken']>[0]>, reason: string]>([
    ['refused with 400', jsonAnswer({ error: 'invalid_client' }, 400), 'bad-key'],
    ['refused with 401', jsonAnswer({ error: 'invalid_client' }, 401), 'bad-key'],
    ['not found', jsonAnswer({}, 404), 'http-status'],
    ['absent', {}, 'unexpected'],
    ['a number', { access_token: 5 }, 'unexpected'],
    ['empty', { access_token: '' }, 'unexpected'],
    ['a smuggled header', { access_token: 'a\r\nx-evil: 1' }, 'unexpected'],
  ])(
    'that is %s is a fault without a word of the secret, and nothing else is asked',
    async (_, answer, reason) => {
      provider.answerToken(() => answer);
      const fault = await faultOf(source.find(NIF));
      expect(fault.reason).toBe(reason as typeof fault.reason);
      expectNothingOfTheirs(fault, provider);
      expect(provider.lookups()).toEqual([]);
    },
  );
});

describe('the time-out', () => {
  test('spans token, refusal, renewal and report together', async () => {
    const [hurried, other] = (['einforma', 'vies'] as const).map((name) =>
      sourceAt(provider, name, { providerTimeoutMs: 1500 }),
    ) as [CompanySource, CompanySource];
    await hurried.find(NIF);
    provider.answerAll(() => jsonAnswer({}, 401));
    provider.hold();
    const ends: string[] = [];
    const first = timeoutOf(hurried.find(NIF)).then(() => ends.push('the report'));
    await provider.arrived(3);
    provider.release();
    provider.hold();
    // It begins before the renewal, and so would end before a renewal that had a time of its own.
    const second = faultOf(other.find(NIF)).then(() => ends.push('the other'));
    await provider.arrived(5);
    await Promise.all([first, second]);
    expect(ends).toEqual(['the report', 'the other']);
    await other.close();
    await hurried.close();
  });

  test('of the one that asks for a token does not end those that came later', async () => {
    const hurried = sourceAt(provider, 'einforma', { providerTimeoutMs: 2000 });
    provider.hold();
    const first = timeoutOf(hurried.find(NIF));
    await provider.arrived(1);
    await Bun.sleep(1000); // the second one starts, and times out, this much later
    const second = hurried.find(NIF);
    await first;
    await provider.arrived(2);
    provider.release();
    expect(await second).toMatchObject({ kind: 'found' });
    await hurried.close();
  });
});
