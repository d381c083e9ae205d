import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Api, type Caller, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { sendRaw } from '../support/client.ts';
import { MODES } from '../support/modes.ts';
import { nifPtFound } from '../support/provider.ts';

/** NIF and name. For each rule of matching there is a name that no other rule finds. */
const COMPANIES = {
  abaco: ['500002576', 'Ábaco & Filhos, Lda'],
  abacoSa: ['500002568', 'ABACO, S.A.'],
  abacoLda: ['509442013', 'Ábaco Ldª'],
  ldaFirst: ['100000002', 'Lda Nova'],
  zero: ['012345679', 'Zimbro Antigo'],
  star: ['501234560', '* 100% Puro_Algodão *'],
  quoted: ['502345675', `"O'Neill" \\ Irmãos`],
  long: ['503456780', `${'Muito '.repeat(80)}Longa, Lda`],
  hebrew: ['504567888', 'אבג Comércio'],
  emoji: ['505678900', 'Café ☕ Central 😀 Unipessoal, Lda.'],
  digits: ['506789012', '123456789 Transportes'],
} as const;
const directory = `nif,legal_name\n${Object.values(COMPANIES)
  .map(([nif, name]) => `${nif},"${name.replaceAll('"', '""')}"\n`)
  .join('')}`;

describe.each([...MODES])('search over HTTP (%s)', (mode) => {
  let api: Api;
  let caller: Caller;
  beforeAll(async () => {
    api = await startApi({ mode, directory });
    caller = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
  });
  afterAll(() => api.stop());

  /** The names that a query string, given as it goes over the wire, finds. */
  async function raw(query: string): Promise<string[]> {
    const { status, body } = await ask(api, `/companies?${query}`, { key: caller.key });
    expect([query, status, body.error]).toEqual([query, 200, null]);
    return body.data.map((entry: { legal_name: string }) => entry.legal_name);
  }
  const find = (q: string) => raw(`q=${encodeURIComponent(q)}`);
  const names = (...keys: (keyof typeof COMPANIES)[]) => keys.map((key) => COMPANIES[key][1] as string);

  test('every row of the file is in the directory', async () => {
    for (const [nif, name] of Object.values(COMPANIES)) expect(await find(nif)).toEqual([name]);
  });

  test('names match by the beginning of their normalized form; exact ones come first', async () => {
    expect(await find('ABACO')).toEqual(names('abacoLda', 'abacoSa', 'abaco'));
    expect(await find('  ábaco  ')).toEqual(names('abacoLda', 'abacoSa', 'abaco'));
    expect(await find('abaco filhos')).toEqual(names('abaco'));
    expect(await find('ábac')).toEqual(
      names('abaco', 'abacoLda', 'abacoSa').sort((a, b) => sortKey(a) - sortKey(b)),
    );
    expect(await find('filhos')).toEqual([]);
    expect(await find('baco')).toEqual([]);
  });
  /** Order by the sort key: `abaco & filhos, lda` < `abaco lda` < `abaco, s.a.`. */
  const sortKey = (name: string) => (name.includes('&') ? 0 : name.includes('Ld') ? 1 : 2);

  test('legal suffixes are left out of query and name alike, but never the whole name', async () => {
    for (const q of [
      'abaco lda',
      'ABACO, S.A.',
      'ábaco ldª',
      'Abaco L.da',
      'abaco Sociedade Anónima',
      'abaco sa lda',
    ]) {
      expect([q, await find(q)]).toEqual([q, names('abacoLda', 'abacoSa', 'abaco')]);
    }
    expect(await find('lda')).toEqual(names('ldaFirst'));
    expect(await find('lda nova, lda')).toEqual(names('ldaFirst'));
    expect(await find('sa')).toEqual([]);
    expect(await find('Café Central 😀 Lda')).toEqual(names('emoji'));
    expect(await find('CAFE — central')).toEqual(names('emoji'));
  });

  test('nine digits make it a NIF query, separated in any way, with or without text around, and no check digit', async () => {
    for (const q of [
      '500002576',
      '500 002 576',
      '500.002.576',
      '500-002-576',
      '5-0 0.0 -. 0\t2\u00a05 7 6',
      'PT500002576',
      'NIF: 500 002 576, Lisboa',
      '\u202b500002576\u202c',
      'Ábaco 500002576, 123456789',
    ]) {
      expect([q, await find(q)]).toEqual([q, names('abaco')]);
    }
    // A wrong check digit is no error here, and neither is a NIF that the directory has not.
    expect(await find('500002577')).toEqual([]);
    expect(await find('123456789')).toEqual([]);
    expect(await find('999999990')).toEqual([]);
    // Eight or ten digits are a name, and so are digits of another script.
    expect(await find('5000025760')).toEqual([]);
    expect(await find('1 500002576')).toEqual([]);
    expect(await find('50000257')).toEqual([]);
    expect(await find('٥٠٠٠٠٢٥٧٦')).toEqual([]);
    expect(await find('012345679')).toEqual(names('zero'));
  });

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

  test('nothing in a query is an operator', async () => {
    for (const q of [
      '*',
      '%',
      '_',
      '?',
      '.*',
      'abac*',
      'aba?o',
      'a%o',
      'abac_',
      '^abaco',
      '[a-z]',
      '~',
      'NOT',
      '{}',
    ]) {
      const expected = q === 'abac*' ? await find('abac') : q === 'abac_' ? await find('abac') : [];
      if (q === '^abaco') continue;
      expect([q, await find(q)]).toEqual([q, expected]);
    }
    expect(await find('^abaco')).toEqual(await find('abaco'));
    expect(await find('* 100% puro')).toEqual(names('star'));
    expect(await find('100 puro_alg')).toEqual(names('star'));
    expect(await find('"o')).toEqual(names('quoted'));
    expect(await find("O'Neill\\Irmãos")).toEqual(names('quoted'));
    expect(await find("'; DROP TABLE companies; --")).toEqual([]);
    expect(await find('"}},{"match_all":{}}')).toEqual([]);
    expect(await find('\n{"index":"*"}\n{"query":{"match_all":{}}}\n')).toEqual([]);
  });

  test('NUL, control characters, marks of direction and lone surrogates do no harm', async () => {
    expect(await find('\0')).toEqual([]);
    expect(await find('ábaco\0')).toEqual(await find('abaco'));
    expect(await find('\u202eאבג\u202c')).toEqual(names('hebrew'));
    expect(await find('\u200f\u200e')).toEqual([]);
    expect(await find('a\u0301baco')).toEqual(await find('abaco'));
    expect(await find('ａｂａｃｏ')).toEqual(await find('abaco'));
    expect(await raw('q=%ED%A0%80')).toEqual([]);
    expect(await raw('q=%ED%A0%80abaco')).toEqual(await find('abaco'));
    expect(await raw('q=%F0%9F%98')).toEqual([]);
    expect(await find('\u0007\u001b[31m')).toEqual([]);
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
    expect(await raw('q=zimbro&q=abaco')).toEqual(names('zero'));
    expect(await raw('x=1&q=zimbro&page=2')).toEqual(names('zero'));
    expect(await raw('q=zimbro+antigo')).toEqual(names('zero'));
    expect(await raw('%71=zimbro')).toEqual(names('zero'));
    for (const query of ['q=&q=abaco', 'q[]=abaco', 'Q=abaco', 'q', 'q=+', 'q=%E2%80%83']) {
      const { status, kind } = await ask(api, `/companies?${query}`, { key: caller.key });
      expect([query, status, kind]).toEqual([query, 400, 'validation']);
    }
  });

  test('long names and long queries are matched right', async () => {
    for (const words of [1, 40, 79, 80]) expect(await find('muito '.repeat(words))).toEqual(names('long'));
    expect(await find(`${'muito '.repeat(80)}longa`)).toEqual(names('long'));
    expect(await find(`${'muito '.repeat(80)}longa sa`)).toEqual(names('long'));
    expect(await find(`${'muito '.repeat(80)}curta`)).toEqual([]);
    expect(await find('muito '.repeat(81))).toEqual([]);
    expect(await find('a'.repeat(10_000))).toEqual([]);
    expect(await find('é'.repeat(1_700))).toEqual([]); // 10 kB of escapes
    expect(await find('. '.repeat(3_000))).toEqual([]);
    expect(await find('1 '.repeat(3_000))).toEqual([]);
    expect(await find(' lda'.repeat(2_000))).toEqual(names('ldaFirst'));
  });

  test('raw bytes in the address are read as UTF-8 or do no harm', async () => {
    const head = `Host: h\r\nAuthorization: Bearer ${caller.key}\r\nConnection: close\r\n\r\n`;
    const answer = await sendRaw(api, `GET /api/v1/companies?q=ábaco HTTP/1.1\r\n${head}`);
    expect(answer).toStartWith('HTTP/1.1 200');
  });
});
