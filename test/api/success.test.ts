import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Api, type Caller, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { sendRaw } from '../support/client.ts';
import { MODES } from '../support/modes.ts';
import { nifPtFound } from '../support/provider.ts';

const DIRECTORY = `nif,legal_name
500002576,"Ábaco & Filhos, Lda"
500002568,ABACO
100000002,Abacate Verde Unipessoal Lda
012345679,Zimbro Antigo
`;

describe.each([...MODES])('success bodies to the letter, and queries as they are sent (%s)', (mode) => {
  let api: Api;
  let caller: Caller;
  beforeAll(async () => {
    api = await startApi({ mode, directory: DIRECTORY });
    caller = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
  });
  afterAll(() => api.stop());
  const get = (path: string, key = caller.key) => ask(api, path, { key });

  test('a search: data and error, five strings an entry, exact matches first', async () => {
    const { status, headers, body } = await get('/companies?q=abac');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(body).toEqual({
      data: [
        {
          nif: '100000002',
          legal_name: 'Abacate Verde Unipessoal Lda',
          status: '',
          locality: '',
          primary_cae: '',
        },
        { nif: '500002568', legal_name: 'ABACO', status: '', locality: '', primary_cae: '' },
        { nif: '500002576', legal_name: 'Ábaco & Filhos, Lda', status: '', locality: '', primary_cae: '' },
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
          companies: 4,
          updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          last_file: { sha256: HASH, bytes: expect.any(Number) },
          rows: HASH,
        },
        debts: { tax: null, social_security: null },
      },
      error: null,
    });
  });

  /** The names that a query string, given as it goes over the wire, finds. */
  async function raw(query: string): Promise<string[]> {
    const { status, body } = await ask(api, `/companies?${query}`, { key: caller.key });
    expect([query, status, body.error]).toEqual([query, 200, null]);
    return body.data.map((entry: { legal_name: string }) => entry.legal_name);
  }
  const find = (q: string) => raw(`q=${encodeURIComponent(q)}`);

  test('a NIF that the directory has not can still be looked up, and a lookup adds no entry', async () => {
    const nif = '508888883';
    api.provider.answer(nif, nifPtFound(nif, { title: 'Só No Fornecedor' }));
    expect(await find(nif)).toEqual([]);
    expect((await ask(api, `/companies/${nif}`, { key: caller.key })).body.data.title).toBe(
      'Só No Fornecedor',
    );
    expect(await find(nif)).toEqual([]);
    expect(await find('so no fornecedor')).toEqual([]);
  });

  test('malformed escapes are taken as they stand', async () => {
    expect(await raw('q=%')).toEqual([]);
    expect(await raw('q=%zz')).toEqual([]);
    expect(await raw('q=abaco%')).toEqual(await find('abaco'));
    // The bytes that are no character are a separator, and `%A` is an `a`.
    expect(await raw('q=%E0%A4%A')).toEqual(await find('a'));
    expect(await raw('q=%E0%A4')).toEqual([]);
    expect(await raw('q=%C1%A1')).toEqual([]); // an overlong form of "a" is no "a"
  });

  test('of repeated q the first counts; a plus is a space; other parameters are not looked at', async () => {
    expect(await raw('q=zimbro&q=abaco')).toEqual(['Zimbro Antigo']);
    expect(await raw('x=1&q=zimbro&page=2')).toEqual(['Zimbro Antigo']);
    expect(await raw('q=zimbro+antigo')).toEqual(['Zimbro Antigo']);
    expect(await raw('%71=zimbro')).toEqual(['Zimbro Antigo']);
    for (const query of ['q=&q=abaco', 'q[]=abaco', 'Q=abaco', 'q', 'q=+', 'q=%E2%80%83']) {
      const { status, kind } = await ask(api, `/companies?${query}`, { key: caller.key });
      expect([query, status, kind]).toEqual([query, 400, 'validation']);
    }
  });

  test('raw bytes in the address are read as UTF-8 or do no harm', async () => {
    const head = `Host: h\r\nAuthorization: Bearer ${caller.key}\r\nConnection: close\r\n\r\n`;
    const answer = await sendRaw(api, `GET /api/v1/companies?q=ábaco HTTP/1.1\r\n${head}`);
    expect(answer).toStartWith('HTTP/1.1 200');
  });
});
