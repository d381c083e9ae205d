/** Which sources there are, what they ask, and what each of their answers means: a company, none, or a fault. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { createSources } from '../../../src/companies/sources/create-sources.ts';
import {
  type CompanyDetails,
  SourceError,
  type SourceName,
  type SourcesConfig,
} from '../../../src/companies/sources/source-types.ts';
import { readConfig } from '../../../src/platform/config/config.ts';
import {
  jsonAnswer,
  nifPtBadKey,
  nifPtError,
  nifPtFound,
  nifPtNotFound,
  startProvider,
  viesError,
  viesFound,
  viesInvalid,
} from '../../support/provider.ts';
import { NO_DETAILS } from '../../support/records.ts';
import { expectNothingOfTheirs, found, NIF, SECRET_KEY, SOURCES, sourceAt } from './sources-support.ts';

type Members = Record<string, unknown>;
type Answer = Parameters<typeof provider.answer>[1];
/** A record of a source with these members, and the details that it has other than the whole record. */
type Reading = [SourceName, Members, Partial<CompanyDetails>];
/** An answer of a source, and what it means. */
type Meaning = [SourceName, Answer, outcome: string];

const OTHER = '500000000';
const provider = await startProvider();
const sources = SOURCES.map((name) => sourceAt(provider, name));
afterAll(async () => {
  await Promise.all(sources.map((source) => source.close()));
  await provider.close();
});
beforeEach(() => {
  provider.requests.length = 0;
});

/** What a source makes of an answer: details, the kind of another answer, or the reason of a fault. */
async function outcomeOf(name: SourceName, answer: Answer): Promise<CompanyDetails | string> {
  provider.answer(NIF, answer);
  try {
    const outcome = await sources.find((source) => source.name === name)!.find(NIF);
    return outcome.kind === 'found' ? outcome.details : outcome.kind;
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    expectNothingOfTheirs(error, provider);
    return error.reason;
  }
}

test.each<[what: string, config: Partial<SourcesConfig>, names: SourceName[]]>([
  ['nif.pt is not asked without a key', {}, ['vies']],
  ['nor when the default is written without its slash', { nifPtUrl: 'https://www.nif.pt' }, ['vies']],
  ['it comes first when it has a key', { nifPtKey: 'k' }, ['nif.pt', 'vies']],
  ['or when the URL is another', { nifPtUrl: 'http://127.0.0.1:1/' }, ['nif.pt', 'vies']],
  ['eInforma can be the registry', { nifPtKey: 'k', registry: 'einforma' }, ['nif.pt', 'einforma']],
  ['the registry can be left out', { nifPtKey: 'k', registry: 'none' }, ['nif.pt']],
  ['there may be no source at all', { registry: 'none' }, []],
])('%s', async (_, config, names) => {
  const made = createSources({ ...readConfig({}), ...config });
  expect(made.map(({ name }) => name)).toEqual(names);
  await Promise.all(made.map((source) => source.close()));
});

test.each<[SourceName, Partial<SourcesConfig>, path: string, query: Record<string, string>]>([
  ['nif.pt', {}, '/', { json: '1', q: NIF, key: SECRET_KEY }],
  ['nif.pt', { nifPtKey: null }, '/', { json: '1', q: NIF }],
  ['nif.pt', { nifPtKey: 'a&b=c #é' }, '/', { json: '1', q: NIF, key: 'a&b=c #é' }],
  [
    'nif.pt',
    { nifPtUrl: `${provider.url}/proxy/?tenant=7` },
    '/proxy/',
    { tenant: '7', json: '1', q: NIF, key: SECRET_KEY },
  ],
  ['vies', {}, `/vies/rest-api/ms/PT/vat/${NIF}`, {}],
  ['vies', { viesUrl: `${provider.url}/vies/rest-api/` }, `/vies/rest-api/ms/PT/vat/${NIF}`, {}],
])('%s is asked with %j at %s', async (name, config, path, query) => {
  const source = sourceAt(provider, name, config);
  provider.answer(NIF, found(name));
  await source.find(NIF);
  const [{ method, url }] = provider.requests as [(typeof provider.requests)[number]];
  expect([method, url.pathname, Object.fromEntries(url.searchParams)]).toEqual(['GET', path, query]);
  await source.close();
});

/** The details that each source's whole record ({@link found}) is read as. */
const WHOLE: Record<SourceName, CompanyDetails> = {
  'nif.pt': {
    title: 'Empresa Exemplo Lda',
    address: 'Rua das Flores, 12',
    zipcode: '4465-671',
    city: 'Leça do Balio',
    activity: 'Programação informática',
    status: 'active',
    cae: '62010',
    structure: { nature: 'LDA', capital: '5000.00', capital_currency: 'EUR' },
  },
  vies: {
    ...NO_DETAILS,
    ...{ title: 'EMPRESA EXEMPLO LDA', address: 'CALÇADA DO DUQUE, 20', zipcode: '1249-109', city: 'LISBOA' },
  },
  einforma: {
    title: 'EMPRESA EXEMPLO, LDA',
    address: 'AVENIDA DA LIBERDADE 100',
    zipcode: '1250-144',
    city: 'LISBOA',
    activity: 'Programação informática',
    status: 'Ativa',
    cae: '6201',
    structure: { nature: 'Sociedade por quotas', capital: '5000', capital_currency: 'EUR' },
  },
};

describe('a company', () => {
  const BLANK = [null, undefined, { a: 1 }, true, [], [null, {}], ' \t\n '];
  const MEMBERS = ['title', 'address', 'pc4', 'pc3', 'city', 'activity', 'status', 'cae', 'structure'];

  test.each<Reading>([
    ...SOURCES.map((name): Reading => [name, {}, {}]),
    ...BLANK.map(
      (value): Reading => [
        'nif.pt',
        Object.fromEntries(MEMBERS.map((member) => [member, value])),
        NO_DETAILS,
      ],
    ),
    ['nif.pt', { cae: ['56303', '56101'] }, { cae: '56303' }],
    ['nif.pt', { cae: [null, 56101] }, { cae: '56101' }],
    ['nif.pt', { cae: 62010, nif: NIF }, {}],
    ['nif.pt', { pc4: '4465', pc3: null }, { zipcode: '4465' }],
    ['nif.pt', { pc4: 4465, pc3: 671 }, { zipcode: '4465-671' }],
    ['nif.pt', { pc4: '', pc3: '671' }, { zipcode: '' }],
    [
      'nif.pt',
      {
        title: 'Caf&eacute; &amp; Bar <b>S&atilde;o</b>',
        activity: '<p>Bares.</p><p>Fabrico de p&atilde;o<br/>e doces</p><script>alert(1)</script>',
      },
      { title: 'Café & Bar São', activity: 'Bares. Fabrico de pão e doces' },
    ],
    ...(
      [
        ['RUA A N 1\nLUGAR DE CIMA\n4465-671 LEÇA', 'RUA A N 1, LUGAR DE CIMA', '4465-671', 'LEÇA'],
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
      ] as const
    ).map(
      ([given, address, zipcode, city]): Reading => ['vies', { address: given }, { address, zipcode, city }],
    ),
    ...['---', '', null, undefined, [], {}].map((name): Reading => ['vies', { name }, { title: '' }]),
    // It may be answered without the number, or with the country before it.
    ...[undefined, '', NIF, Number(NIF), `PT${NIF}`].map((vatNumber): Reading => ['vies', { vatNumber }, {}]),
    [
      'einforma',
      { cnae: '62010', localidad: 'Lisboa', capitalSocial: '5.000,50' },
      {
        ...{ cae: '62010', activity: '', zipcode: '', city: 'Lisboa' },
        structure: { ...WHOLE.einforma.structure, capital: '5000.50' },
      },
    ],
    ...[Number(NIF), `PT${NIF}`, 'PT 509 442 013', undefined, null].map(
      (identificativo): Reading => ['einforma', { identificativo }, {}],
    ),
  ])('of %s with %j has the details of the whole record, with %j', async (name, members, details) => {
    expect(await outcomeOf(name, found(name, NIF, members))).toEqual({ ...WHOLE[name], ...details });
  });

  test('of eInforma without most members has the defaults', async () => {
    expect(await outcomeOf('einforma', { denominacion: 'SÓ', cnae: null, capitalSocial: {} })).toEqual({
      ...NO_DETAILS,
      title: 'SÓ',
    });
  });

  test('of nif.pt may have its NIF as a number, without its zeros', async () => {
    provider.answer('012345679', nifPtFound('012345679', { title: 'Zero' }));
    expect(await sources[0]!.find('012345679')).toMatchObject({ kind: 'found', details: { title: 'Zero' } });
  });
});

const USER_ERRORS = [
  ...['MS_UNAVAILABLE', 'MS_MAX_CONCURRENT_REQ', 'GLOBAL_MAX_CONCURRENT_REQ', 'SERVICE_UNAVAILABLE'],
  ...['TIMEOUT', 'INVALID_INPUT', 'VALID', ''],
];
const DEEP = '['.repeat(65) + ']'.repeat(65);

test.each<Meaning>([
  ['nif.pt', nifPtNotFound(), 'not-found'],
  ['nif.pt', nifPtBadKey(), 'bad-key'],
  ...['Database is away: No records found', 'Limit reached', '', 'SECRET'].map(
    (message): Meaning => ['nif.pt', nifPtError(message), 'provider-error'],
  ),
  ['nif.pt', nifPtFound(OTHER), 'wrong-company'],
  ['nif.pt', nifPtFound(NIF, { nif: Number(OTHER) }), 'wrong-company'],
  ['nif.pt', nifPtFound(OTHER, { nif: Number(NIF) }), 'wrong-company'],
  ['nif.pt', nifPtFound(NIF, { nif: null }), 'wrong-company'],
  ['nif.pt', { result: 'success', records: [] }, 'unexpected'],
  ['nif.pt', { result: 'success' }, 'unexpected'],
  ['nif.pt', { result: 'success', records: {} }, 'unexpected'],
  ['nif.pt', { result: 'success', records: { [NIF]: null } }, 'unexpected'],
  ['nif.pt', { result: 'maybe', message: 'No records found' }, 'unexpected'],
  ['nif.pt', { message: 'No records found' }, 'unexpected'],
  ['nif.pt', {}, 'unexpected'],
  // Deeper than any of theirs.
  ['nif.pt', { status: 200, body: `{"result":"success","records":{"${NIF}":${DEEP}}}` }, 'unreadable'],
  // It says nothing about existence, so it is no "not found".
  ['vies', viesInvalid(NIF), 'unknown'],
  ...USER_ERRORS.map(
    (userError): Meaning => ['vies', viesFound(NIF, { isValid: false, userError }), 'provider-error'],
  ),
  ['vies', viesFound(NIF, { userError: 'MS_UNAVAILABLE' }), 'provider-error'],
  ['vies', viesError('MS_MAX_CONCURRENT_REQ'), 'provider-error'],
  ['vies', { ...viesFound(NIF), errorWrappers: [{ error: 'VAT_BLOCKED' }] }, 'provider-error'],
  ['vies', viesFound(OTHER), 'wrong-company'],
  ['vies', viesInvalid(OTHER), 'wrong-company'],
  ...[{}, { isValid: 'true' }, { isValid: null, userError: 'VALID' }, { valid: true }].map(
    (body): Meaning => ['vies', body, 'unexpected'],
  ),
  // Under an accepted token a 404 with JSON is definite.
  ['einforma', jsonAnswer({ error: 'not_found' }, 404), 'not-found'],
  ...['<html>404', '', '[]'].map((body): Meaning => ['einforma', { status: 404, body }, 'unreadable']),
  // Errors come with 200, too.
  ...[{}, { error: 'quota' }, { denominacion: ' ' }, { denominacion: null }].map(
    (body): Meaning => ['einforma', body, 'unexpected'],
  ),
  ...['identificativo', 'nif', 'nipc', 'cif'].map(
    (member): Meaning => ['einforma', found('einforma', NIF, { [member]: OTHER }), 'wrong-company'],
  ),
])('%s: %j is %s', async (name, answer, outcome) => {
  expect(await outcomeOf(name, answer)).toBe(outcome);
});
