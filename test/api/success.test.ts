/** GET endpoints over HTTP, in both modes: every sentence of docs/api.md about their answers. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Api, type Caller, PLENTY, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { MODES } from '../support/modes.ts';
import { nifPtFound } from '../support/provider.ts';

/** Names for the search by words. */
const NAMES = [
  'Padaria Braga, Lda',
  'Padaria Central de Braga, Lda',
  'Bragança Padaria',
  'Braga Padaria, S.A.',
  'Padaria Silva & Filhos, Lda',
  'Silva, Lda',
  ...Array.from({ length: 30 }, (_, i) => `Oficina ${String(i).padStart(2, '0')} de Lisboa`),
];
const DIRECTORY = `nif,legal_name
500002576,"Ábaco & Filhos, Lda"
500002568,ABACO
100000002,Abacate Verde Unipessoal Lda
012345679,Zimbro Antigo
${NAMES.map((name, n) => `${nif(n)},"${name}"\n`).join('')}`;

const entryOf = (nif: string, legal_name: string) => ({
  ...{ nif, legal_name, status: '', locality: '', primary_cae: '' },
});

describe.each([...MODES])('success bodies to the letter (%s)', (mode) => {
  let api: Api;
  let caller: Caller;
  beforeAll(async () => {
    api = await startApi({ mode, directory: DIRECTORY });
    caller = await api.caller(PLENTY);
  });
  afterAll(() => api.stop());
  const get = (path: string, key = caller.key) => ask(api, path, { key });

  test('a search: data and error, five strings an entry, exact matches first', async () => {
    const { status, headers, body } = await get('/companies?q=abac');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(body).toEqual({
      data: [
        entryOf('100000002', 'Abacate Verde Unipessoal Lda'),
        entryOf('500002568', 'ABACO'),
        entryOf('500002576', 'Ábaco & Filhos, Lda'),
      ],
      error: null,
    });
    expect(Object.keys(body)).toEqual(['data', 'error']);
    expect(Object.keys(body.data[0])).toEqual(['nif', 'legal_name', 'status', 'locality', 'primary_cae']);
    expect((await get('/companies?q=abaco')).body.data[0].nif).toBe('500002568');
    expect((await get('/companies?q=nada')).body).toEqual({ data: [], error: null });
  });

  test('a NIF is a string in a search, with its leading zero, and a number in a lookup', async () => {
    expect((await get('/companies?q=012345679')).body.data[0].nif).toBe('012345679');
    api.provider.answer('012345679', nifPtFound('012345679'));
    expect((await get('/companies/012345679')).body.data.nif).toBe(12345679);
  });

  test('a lookup: result and data, every field present', async () => {
    api.provider.answer('500002576', nifPtFound('500002576'));
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { status, headers, body } = await get('/companies/500002576');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(body).toEqual({
      result: 'success',
      data: {
        nif: 500002576,
        title: 'Empresa Exemplo Lda',
        address: 'Rua das Flores, 12',
        zipcode: '4465-671',
        city: 'Leça do Balio',
        activity: 'Programação informática',
        status: 'active',
        cae: '62010',
        structure: { nature: 'LDA', capital: '5000.00', capital_currency: 'EUR' },
        tax_debt: null,
        social_security_debt: null,
      },
    });
    expect(headers.get('X-Record-Source')).toBe('nif.pt');
    const modified = headers.get('Last-Modified') ?? '';
    expect(modified).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
    expect(Date.parse(modified)).toBeWithin(before - 1000, Date.now() + 1000);
  });

  test('a lookup of a company of which nothing is known has empty texts and the defaults', async () => {
    api.provider.answer('100000002', {
      result: 'success',
      records: { 100000002: { nif: 100000002, title: null, cae: [], structure: null } },
    });
    expect((await get('/companies/100000002')).body.data).toEqual({
      nif: 100000002,
      title: '',
      address: '',
      zipcode: '',
      city: '',
      activity: '',
      status: '',
      cae: '',
      structure: { nature: '', capital: '0', capital_currency: 'EUR' },
      tax_debt: null,
      social_security_debt: null,
    });
  });

  test('usage of a Free account', async () => {
    const { key } = await api.caller({ credits: 7 });
    const now = new Date();
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
    const end = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
    const { status, headers, body } = await get('/usage', key);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(body).toEqual({
      success: true,
      data: {
        plan: 'free',
        credits: 7,
        left: 507,
        key_left: null,
        spendPurchased: true,
        resetAt: end.toISOString(),
        rateLimit: { limit: 20, remaining: 19 },
        period: {
          start: start.toISOString().slice(0, 10),
          end: new Date(end.getTime() - 1).toISOString().slice(0, 10),
        },
        quotas: {
          requests: { used: 0, limit: 500, unit: 'calls' },
          apiKeys: { used: 1, limit: 2, unit: 'keys' },
        },
      },
    });
  });

  test('datasets: data and error, the directory with its date, and no debts that were never imported', async () => {
    const HASH = expect.stringMatching(/^[0-9a-f]{64}$/);
    const { status, headers, body } = await get('/datasets');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(body).toEqual({
      data: {
        directory: {
          companies: 4 + NAMES.length,
          updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          last_file: { sha256: HASH, bytes: expect.any(Number) },
          rows: HASH,
        },
        debts: { tax: null, social_security: null },
      },
      error: null,
    });
  });

  const find = async (q: string) => (await get(`/companies?q=${encodeURIComponent(q)}`)).body.data;

  test('a NIF that the directory has not can still be looked up, and a lookup adds no entry', async () => {
    const absent = '508888883';
    api.provider.answer(absent, nifPtFound(absent, { title: 'Só No Fornecedor' }));
    expect(await find(absent)).toEqual([]);
    expect((await get(`/companies/${absent}`)).body.data.title).toBe('Só No Fornecedor');
    expect(await find(absent)).toEqual([]);
    expect(await find('so no fornecedor')).toEqual([]);
  });

  const match = (q: string) => get(`/matches?q=${encodeURIComponent(q)}`);
  const namesOf = (entries: { legal_name: string }[]) => entries.map(({ legal_name }) => legal_name);
  const named = (name: string) => entryOf(nif(NAMES.indexOf(name)), name);

  test('a query finds names by any words, in the envelope and with the entries of the search', async () => {
    const { status, headers, body } = await match('BRAGA padar');
    expect([status, headers.get('Content-Type')]).toEqual([200, 'application/json']);
    expect(body).toEqual({
      data: ['Braga Padaria, S.A.', 'Padaria Braga, Lda', 'Padaria Central de Braga, Lda'].map(named),
      error: null,
    });
    expect(namesOf((await match('padaria brag')).body.data)).toEqual([
      'Padaria Braga, Lda',
      'Braga Padaria, S.A.',
      'Bragança Padaria',
      'Padaria Central de Braga, Lda',
    ]);
    expect((await match('padaria lisboa')).body).toEqual({ data: [], error: null });
    expect((await match('***')).body).toEqual({ data: [], error: null });
  });

  test('at most 20 entries, and a NIF is a NIF query', async () => {
    expect(namesOf((await match('lisboa')).body.data)).toEqual(NAMES.slice(6, 26));
    const spaced = nif(4).replace(/(...)(...)/, '$1 $2.');
    expect(namesOf((await match(`NIF ${spaced}`)).body.data)).toEqual([NAMES[4]!]);
  });

  test('a query of over eight words is asked by its first eight, and the answer says so', async () => {
    const eight = 'de lisboa oficina 03 de lisboa oficina 0';
    const found = [named('Oficina 03 de Lisboa')];
    const [exact, longer, withForm] = await Promise.all(
      [eight, `${eight} ninguem, Unipessoal, Lda`, `${eight}, Lda`].map((q) => match(q)),
    );
    expect(exact!.body).toEqual({ data: found, error: null });
    expect(longer!.body).toEqual(exact!.body);
    expect(withForm!.body).toEqual(exact!.body);
    const headers = [exact, longer, withForm].map((answer) => answer!.headers.get('X-Query-Words'));
    expect(headers).toEqual([null, '8 of 9', null]);
    const nifAmongWords = await match(`um dois tres quatro cinco seis sete oito nove ${nif(3)}`);
    expect([nifAmongWords.body.data, nifAmongWords.headers.get('X-Query-Words')]).toEqual([
      [named(NAMES[3]!)],
      null,
    ]);
  });
});
