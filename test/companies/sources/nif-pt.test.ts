import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { CompanySource } from '../../../src/companies/sources/source-types.ts';
import {
  nifPtBadKey,
  nifPtError,
  nifPtFound,
  nifPtLimit,
  nifPtNotFound,
  type Provider,
  startProvider,
} from '../../support/provider.ts';
import { NO_DETAILS } from '../../support/records.ts';
import { clock, detailsOf, everythingIn, faultOf, NIF, SECRET_KEY, sourceAt } from './support.ts';

let provider: Provider;
let source: CompanySource;
let time: ReturnType<typeof clock>;

beforeEach(async () => {
  provider = await startProvider();
  time = clock();
  source = sourceAt(provider, 'nif.pt', { now: time.now });
});
afterEach(async () => {
  await source.close();
  await provider.close();
});

async function detailsFor(overrides: Record<string, unknown>) {
  provider.answer(NIF, nifPtFound(NIF, overrides));
  return detailsOf(source);
}

describe('the question', () => {
  test('is asked as nif.pt wants it: json, q, key', async () => {
    await source.find(NIF);
    const [request] = provider.requests;
    expect(request!.method).toBe('GET');
    expect(request!.url.pathname + request!.url.search).toBe(`/?json=1&q=${NIF}&key=${SECRET_KEY}`);
  });

  test('goes to the path of the URL and keeps its query', async () => {
    const odd = sourceAt(provider, 'nif.pt', { nifPtUrl: `${provider.url}/proxy/nif/?tenant=7` });
    await odd.find(NIF);
    const { url } = provider.requests[0]!;
    expect(url.pathname).toBe('/proxy/nif/');
    expect(Object.fromEntries(url.searchParams)).toEqual({ tenant: '7', json: '1', q: NIF, key: SECRET_KEY });
    await odd.close();
  });

  test('has no key when none is configured, and one of odd characters arrives as it is', async () => {
    const keyless = sourceAt(provider, 'nif.pt', { nifPtKey: null });
    await keyless.find(NIF);
    expect(provider.requests[0]!.url.searchParams.has('key')).toBe(false);
    await keyless.close();
    const odd = sourceAt(provider, 'nif.pt', { nifPtKey: 'a&b=c #é' });
    await odd.find(NIF);
    expect(provider.requests[1]!.url.searchParams.get('key')).toBe('a&b=c #é');
    await odd.close();
  });
});

describe('a found company', () => {
  test('is told in full', async () => {
    expect(await detailsFor({})).toEqual({
      title: 'Empresa Exemplo Lda',
      address: 'Rua das Flores, 12',
      zipcode: '4465-671',
      city: 'Leça do Balio',
      activity: 'Programação informática',
      status: 'active',
      cae: '62010',
      structure: { nature: 'LDA', capital: '5000.00', capital_currency: 'EUR' },
    });
  });

  const MEMBERS = ['title', 'address', 'pc4', 'pc3', 'city', 'activity', 'status', 'cae', 'structure'];

  test.each([
    ['null', null],
    ['absent', undefined],
    ['objects', { a: 1 }],
    ['true', true],
    ['empty lists', []],
    ['lists of nulls', [null, {}]],
    ['blank', ' \t\n '],
  ])('whose members are %s has the defaults', async (_, value) => {
    expect(await detailsFor(Object.fromEntries(MEMBERS.map((member) => [member, value])))).toEqual(
      NO_DETAILS,
    );
  });

  test('has its first CAE, however the list is written', async () => {
    expect((await detailsFor({ cae: ['56303', '56101'] })).cae).toBe('56303');
    expect((await detailsFor({ cae: [null, 56101] })).cae).toBe('56101');
    expect((await detailsFor({ cae: 62010 })).cae).toBe('62010');
    expect((await detailsFor({ cae: '62010' })).cae).toBe('62010');
  });

  test('has as much of a postal code as there is', async () => {
    expect((await detailsFor({ pc4: '4465', pc3: null })).zipcode).toBe('4465');
    expect((await detailsFor({ pc4: 4465, pc3: 671 })).zipcode).toBe('4465-671');
    expect((await detailsFor({ pc4: '', pc3: '671' })).zipcode).toBe('');
  });

  test('has text where HTML was', async () => {
    const details = await detailsFor({
      title: 'Caf&eacute; &amp; Bar <b>S&atilde;o</b>',
      activity: '<p>Bares.</p><p>Fabrico de p&atilde;o<br/>e doces</p><script>alert(1)</script>',
    });
    expect(details.title).toBe('Café & Bar São');
    expect(details.activity).toBe('Bares. Fabrico de pão e doces');
  });

  test('may have its NIF as a string, with the zeros that a number loses', async () => {
    provider.answer('012345679', nifPtFound('012345679', { title: 'Zero' }));
    expect(await source.find('012345679')).toMatchObject({ kind: 'found', details: { title: 'Zero' } });
    expect((await detailsFor({ nif: NIF })).title).toBe('Empresa Exemplo Lda');
  });
});

describe('an answer about another company', () => {
  test.each([
    ['the key is another NIF', () => nifPtFound('500000000')],
    ['the record is another NIF', () => nifPtFound(NIF, { nif: 500000000 })],
    ['the key is another NIF, the record ours', () => nifPtFound('500000000', { nif: Number(NIF) })],
    ['the record has no NIF', () => nifPtFound(NIF, { nif: null })],
  ])('is a fault: %s', async (_, body) => {
    provider.answer(NIF, body());
    expect((await faultOf(source.find(NIF))).reason).toBe('wrong-company');
  });
});

describe('an answer without a company', () => {
  test('is definite when no records were found', async () => {
    provider.answer(NIF, nifPtNotFound());
    expect(await source.find(NIF)).toEqual({ kind: 'not-found' });
  });

  test.each([
    ['records is a list', { result: 'success', records: [] }],
    ['there are no records', { result: 'success' }],
    ['records is empty', { result: 'success', records: {} }],
    ['the record is null', { result: 'success', records: { [NIF]: null } }],
    ['the result is unheard of', { result: 'maybe', message: 'No records found' }],
    ['there is no result', { message: 'No records found' }],
    ['it is empty', {}],
  ])('is a fault, never "not found", when %s', async (_, body) => {
    provider.answer(NIF, body);
    expect((await faultOf(source.find(NIF))).reason).toBe('unexpected');
  });

  test('is a fault for a key that is not valid, which is told without the key', async () => {
    provider.answer(NIF, nifPtBadKey());
    const fault = await faultOf(source.find(NIF));
    expect(fault.reason).toBe('bad-key');
    expect(everythingIn(fault)).not.toContain(SECRET_KEY);
  });

  test('is a fault for every other message, which is not repeated', async () => {
    for (const message of ['Database is away: No records found', 'Limit reached', '', 'SECRET']) {
      provider.answer(NIF, nifPtError(message));
      const fault = await faultOf(source.find(NIF));
      expect(fault.reason).toBe('provider-error');
      expect(fault.message).toBe('nif.pt: provider-error');
    }
  });
});

test('an answer that nests deeper than any of theirs is not parsed', async () => {
  const deep = '['.repeat(65) + ']'.repeat(65);
  provider.answer(NIF, { status: 200, body: `{"result":"success","records":{"${NIF}":${deep}}}` });
  expect((await faultOf(source.find(NIF))).reason).toBe('unreadable');
});

describe('after a limit', () => {
  const SECOND = 1000;
  const HOUR = 3600 * SECOND;
  test.each([
    ['minute', 60 * SECOND],
    ['hour', HOUR],
  ] as const)(
    'per %s nif.pt is left alone for %d ms, for all companies, and asked again then',
    async (window, windowMs) => {
      provider.answer(NIF, nifPtLimit(window));
      expect((await faultOf(source.find(NIF))).reason).toBe('limit');
      provider.answer(NIF, nifPtFound(NIF));
      time.advance(windowMs - 1);
      expect((await faultOf(source.find(NIF))).reason).toBe('skipped');
      expect((await faultOf(source.find('500000000'))).reason).toBe('skipped');
      expect(provider.requests).toHaveLength(1);
      time.advance(1);
      expect(await source.find(NIF)).toMatchObject({ kind: 'found' });
    },
  );

  describe.each([
    ['day', 24 * HOUR],
    ['month', 30 * 24 * HOUR],
  ] as const)('per %s', (window, windowMs) => {
    test('everybody asks again when the window is over', async () => {
      provider.answer(NIF, nifPtLimit(window));
      await faultOf(source.find(NIF));
      time.advance(windowMs);
      provider.hold();
      provider.answer(NIF, nifPtFound(NIF));
      const questions = [source.find(NIF), source.find('500000000')];
      await provider.arrived(3);
      provider.release();
      expect((await Promise.all(questions)).map(({ kind }) => kind)).toEqual(['found', 'not-found']);
    });

    test('nif.pt is asked once an hour until the window is over, however many lookups there are', async () => {
      provider.answerAll(() => nifPtLimit(window));
      await faultOf(source.find(NIF));
      for (let hour = 1; hour <= 5; hour += 1) {
        time.advance(HOUR - 1);
        expect((await faultOf(source.find(NIF))).reason).toBe('skipped');
        time.advance(1);
        const faults = await Promise.all(Array.from({ length: 5 }, () => faultOf(source.find(NIF))));
        expect(faults.map(({ reason }) => reason).sort()).toEqual(['limit', ...Array(4).fill('skipped')]);
        expect(provider.requests).toHaveLength(1 + hour);
      }
    });

    test('the window ends with the first of these questions that gets an answer', async () => {
      provider.answer(NIF, nifPtLimit(window));
      await faultOf(source.find(NIF));
      time.advance(HOUR);
      expect(await source.find('500000000')).toEqual({ kind: 'not-found' });
      provider.answer(NIF, nifPtFound(NIF));
      for (let lookup = 0; lookup < 3; lookup += 1) {
        expect(await source.find(NIF)).toMatchObject({ kind: 'found' });
      }
    });

    test('a question that fails in another way leaves the window as it is', async () => {
      provider.answer(NIF, nifPtLimit(window));
      await faultOf(source.find(NIF));
      time.advance(HOUR);
      provider.answer(NIF, nifPtError('Something new'));
      expect((await faultOf(source.find(NIF))).reason).toBe('provider-error');
      expect((await faultOf(source.find(NIF))).reason).toBe('skipped');
    });

    test('a question that is not permitted leaves the hour to the next one', async () => {
      provider.answer(NIF, nifPtLimit(window));
      await faultOf(source.find(NIF));
      time.advance(HOUR);
      const refused = new Error('over budget');
      expect(await source.find(NIF, () => Promise.reject(refused)).catch((error) => error)).toBe(refused);
      provider.answer(NIF, nifPtFound(NIF));
      expect(await source.find(NIF)).toMatchObject({ kind: 'found' });
    });

    test('the operator is told of each limit answer, with its window', async () => {
      const told: string[] = [];
      const observed = sourceAt(provider, 'nif.pt', {
        now: time.now,
        onLimit: (...limit) => void told.push(limit.join(' ')),
      });
      provider.answer(NIF, nifPtLimit(window));
      for (let lookup = 0; lookup < 3; lookup += 1) await faultOf(observed.find(NIF));
      expect(told).toEqual([`nif.pt ${window}`]);
      await observed.close();
    });
  });

  test('a shorter limit does not shorten a longer one', async () => {
    provider.hold();
    provider.answer('500000000', nifPtLimit('hour'));
    provider.answer(NIF, nifPtLimit('minute'));
    const faults = [faultOf(source.find('500000000')), faultOf(source.find(NIF))];
    await provider.arrived(2);
    provider.release();
    expect((await Promise.all(faults)).map(({ reason }) => reason)).toEqual(['limit', 'limit']);
    time.advance(60 * SECOND);
    expect((await faultOf(source.find(NIF))).reason).toBe('skipped');
  });
});
