import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { CompanySource } from '../../../src/companies/sources/source-types.ts';
import { type Provider, startProvider, viesError, viesFound, viesInvalid } from '../../support/provider.ts';
import { NO_DETAILS } from '../../support/records.ts';
import { detailsOf, faultOf, NIF, sourceAt } from './support.ts';

let provider: Provider;
let source: CompanySource;

beforeEach(async () => {
  provider = await startProvider();
  source = sourceAt(provider, 'vies');
});
afterEach(async () => {
  await source.close();
  await provider.close();
});

async function detailsFor(overrides: Record<string, unknown>) {
  provider.answer(NIF, viesFound(NIF, overrides));
  return detailsOf(source);
}

test.each(['/vies/rest-api', '/vies/rest-api/'])('asks under %s', async (path) => {
  const other = sourceAt(provider, 'vies', { viesUrl: provider.url + path });
  await other.find(NIF);
  expect(provider.requests[0]!.url.pathname).toBe(`/vies/rest-api/ms/PT/vat/${NIF}`);
  await other.close();
});

describe('a registered company', () => {
  test('has its name and address, and defaults for what VIES does not know', async () => {
    expect(await detailsFor({})).toEqual({
      ...NO_DETAILS,
      title: 'EMPRESA EXEMPLO LDA',
      address: 'CALÇADA DO DUQUE, 20',
      zipcode: '1249-109',
      city: 'LISBOA',
    });
  });

  test.each([
    [
      'RUA A N 1\nLUGAR DE CIMA\n4465-671 LEÇA DO BALIO',
      'RUA A N 1, LUGAR DE CIMA',
      '4465-671',
      'LEÇA DO BALIO',
    ],
    ['RUA A\r\n\r\n1000 LISBOA\n', 'RUA A', '1000', 'LISBOA'],
    ['1249-109 LISBOA', '', '1249-109', 'LISBOA'],
    ['RUA A\n1249-109', 'RUA A', '1249-109', ''],
    ['RUA A, 1249-109 LISBOA', 'RUA A, 1249-109 LISBOA', '', ''],
    ['RUA 25 DE ABRIL', 'RUA 25 DE ABRIL', '', ''],
    ['---', '', '', ''],
    ['', '', '', ''],
    [null, '', '', ''],
    [42, '42', '', ''],
    [{ street: 'RUA A' }, '', '', ''],
    ['R&amp;D <b>PARK</b>\n1249-109 LISBOA', 'R&D PARK', '1249-109', 'LISBOA'],
  ])('with the address %j', async (given, address, zipcode, city) => {
    expect(await detailsFor({ address: given })).toMatchObject({ address, zipcode, city });
  });

  test.each([['---'], [''], [null], [undefined], [[]], [{}]])(
    'with the name %j has an empty title',
    async (name) => {
      expect((await detailsFor({ name })).title).toBe('');
    },
  );

  test('may be answered without the number, or with the country before it', async () => {
    for (const vatNumber of [undefined, '', NIF, Number(NIF), `PT${NIF}`]) {
      expect(await detailsFor({ vatNumber })).toMatchObject({ title: 'EMPRESA EXEMPLO LDA' });
    }
  });
});

test('"INVALID" says nothing about existence: unknown, not "not found"', async () => {
  provider.answer(NIF, viesInvalid(NIF));
  expect(await source.find(NIF)).toEqual({ kind: 'unknown' });
});

test.each([
  'MS_UNAVAILABLE',
  'MS_MAX_CONCURRENT_REQ',
  'GLOBAL_MAX_CONCURRENT_REQ',
  'SERVICE_UNAVAILABLE',
  'TIMEOUT',
  'INVALID_INPUT',
  'VALID',
  '',
])('a negative answer with the user error %p is a fault', async (userError) => {
  provider.answer(NIF, viesFound(NIF, { isValid: false, userError }));
  expect((await faultOf(source.find(NIF))).reason).toBe('provider-error');
});

test('a positive answer with a user error is a fault', async () => {
  provider.answer(NIF, viesFound(NIF, { userError: 'MS_UNAVAILABLE' }));
  expect((await faultOf(source.find(NIF))).reason).toBe('provider-error');
});

test('errors in their wrapper are faults, also beside an answer', async () => {
  provider.answer(NIF, viesError('MS_MAX_CONCURRENT_REQ'));
  expect((await faultOf(source.find(NIF))).reason).toBe('provider-error');
  provider.answer(NIF, { ...viesFound(NIF), errorWrappers: [{ error: 'VAT_BLOCKED' }] });
  expect((await faultOf(source.find(NIF))).reason).toBe('provider-error');
});

test('an answer about another number is a fault, whether valid or not', async () => {
  provider.answer(NIF, viesFound('500000000'));
  expect((await faultOf(source.find(NIF))).reason).toBe('wrong-company');
  provider.answer(NIF, viesInvalid('500000000'));
  expect((await faultOf(source.find(NIF))).reason).toBe('wrong-company');
});

test('an answer in no known form is a fault', async () => {
  for (const body of [{}, { isValid: 'true' }, { isValid: null, userError: 'VALID' }, { valid: true }]) {
    provider.answer(NIF, body);
    expect((await faultOf(source.find(NIF))).reason).toBe('unexpected');
  }
});
