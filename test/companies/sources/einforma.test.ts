import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { CompanySource } from '../../../src/companies/sources/source-types.ts';
import { einformaReport, jsonAnswer, type Provider, startProvider } from '../../support/provider.ts';
import { NO_DETAILS } from '../../support/records.ts';
import { CLIENT_SECRET, clock, detailsOf, everythingIn, faultOf, NIF, sourceAt } from './support.ts';

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

async function detailsFor(overrides: Record<string, unknown>) {
  provider.answer(NIF, einformaReport(NIF, overrides));
  return detailsOf(source);
}

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

  test('is used again until shortly before it expires', async () => {
    await source.find(NIF);
    time.advance(3600_000 - 30_001);
    await source.find(NIF);
    expect(tokenRequests()).toHaveLength(1);
    time.advance(1);
    await source.find(NIF);
    expect(tokensUsed()).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2']);
  });

  test('of a very short life is used for half of it', async () => {
    provider.answerToken((nth) => ({ access_token: `token-${nth}`, expires_in: '20' }));
    await source.find(NIF);
    time.advance(9_999);
    await source.find(NIF);
    expect(tokenRequests()).toHaveLength(1);
    time.advance(1);
    await source.find(NIF);
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

  test.each([400, 401])(
    'refused with %d is the fault "bad-key", without a word of the secret',
    async (status) => {
      provider.answerToken(() => jsonAnswer({ error: 'invalid_client' }, status));
      const fault = await faultOf(source.find(NIF));
      expect(fault.reason).toBe('bad-key');
      expect(everythingIn(fault)).not.toContain(CLIENT_SECRET);
      expect(provider.lookups()).toEqual([]);
    },
  );

  test.each([
    ['none', {}],
    ['a number', { access_token: 5 }],
    ['empty', { access_token: '' }],
    ['a smuggled header', { access_token: 'a\r\nx-evil: 1' }],
  ])('that is no token is a fault: %s', async (_, body) => {
    provider.answerToken(() => body);
    expect((await faultOf(source.find(NIF))).reason).toBe('unexpected');
    expect(provider.lookups()).toEqual([]);
  });

  test('that cannot be had is a fault and no "not found", also for a 404', async () => {
    provider.answerToken(() => jsonAnswer({}, 404));
    expect((await faultOf(source.find(NIF))).reason).toBe('http-status');
  });
});

describe('the time-out', () => {
  test('spans token, refusal, renewal and report together', async () => {
    const hurried = sourceAt(provider, 'einforma', { providerTimeoutMs: 1500 });
    await hurried.find(NIF);
    provider.answerAll(() => jsonAnswer({}, 401));
    provider.hold();
    const fault = faultOf(hurried.find(NIF));
    await provider.arrived(3);
    // The refusal comes when part of the time is over; the renewal has the rest only.
    await Bun.sleep(500);
    provider.release();
    provider.hold();
    await provider.arrived(4);
    expect((await fault).reason).toBe('timeout');
    await hurried.close();
  });

  test('of the one that asks for a token does not end those that came later', async () => {
    const hurried = sourceAt(provider, 'einforma', { providerTimeoutMs: 2000 });
    provider.hold();
    const first = faultOf(hurried.find(NIF));
    await provider.arrived(1);
    await Bun.sleep(1000); // the second one starts, and times out, this much later
    const second = hurried.find(NIF);
    expect((await first).reason).toBe('timeout');
    await provider.arrived(2);
    provider.release();
    expect(await second).toMatchObject({ kind: 'found' });
    await hurried.close();
  });
});

describe('a report', () => {
  test('is told in full', async () => {
    expect(await detailsFor({})).toEqual({
      title: 'EMPRESA EXEMPLO, LDA',
      address: 'AVENIDA DA LIBERDADE 100',
      zipcode: '1250-144',
      city: 'LISBOA',
      activity: 'Programação informática',
      status: 'Ativa',
      cae: '6201',
      structure: { nature: 'Sociedade por quotas', capital: '5000', capital_currency: 'EUR' },
    });
  });

  test('may tell code, place and capital bare', async () => {
    expect(await detailsFor({ cnae: '62010', localidad: 'Lisboa', capitalSocial: '5.000,50' })).toMatchObject(
      {
        cae: '62010',
        activity: '',
        zipcode: '',
        city: 'Lisboa',
        structure: { capital: '5000.50' },
      },
    );
  });

  test('without most members has the defaults', async () => {
    provider.answer(NIF, { denominacion: 'SÓ NOME', cnae: null, capitalSocial: {} });
    expect(await source.find(NIF)).toEqual({
      kind: 'found',
      details: { ...NO_DETAILS, title: 'SÓ NOME' },
    });
  });

  test('without a name is a fault: errors come with 200, too', async () => {
    for (const body of [{}, { error: 'quota' }, { denominacion: ' ' }, { denominacion: null }]) {
      provider.answer(NIF, body);
      expect((await faultOf(source.find(NIF))).reason).toBe('unexpected');
    }
  });

  test.each(['identificativo', 'nif', 'nipc', 'cif'])(
    'with another company in `%s` is a fault',
    async (member) => {
      provider.answer(NIF, einformaReport(NIF, { [member]: '500000000' }));
      expect((await faultOf(source.find(NIF))).reason).toBe('wrong-company');
    },
  );

  test('may name its company in other writings', async () => {
    for (const identificativo of [Number(NIF), `PT${NIF}`, 'PT 509 442 013', undefined, null]) {
      expect((await detailsFor({ identificativo })).title).toBe('EMPRESA EXEMPLO, LDA');
    }
  });
});

test('a 404 with JSON under an accepted token is a definite "not found"', async () => {
  provider.answer(NIF, jsonAnswer({ error: 'not_found' }, 404));
  expect(await source.find(NIF)).toEqual({ kind: 'not-found' });
});

test.each([
  ['a page', { status: 404, body: '<html>404' }],
  ['nothing', { status: 404, body: '' }],
  ['a list', { status: 404, body: '[]' }],
])('a 404 with %s is a fault', async (_, answer) => {
  provider.answer(NIF, answer);
  expect((await faultOf(source.find(NIF))).reason).toBe('unreadable');
});
