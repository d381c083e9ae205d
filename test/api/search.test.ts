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
  zero: ['012345679', 'Zimbro Antigo'],
  hebrew: ['504567888', 'אבג Comércio'],
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
    expect(await raw('q=zimbro&q=abaco')).toEqual(names('zero'));
    expect(await raw('x=1&q=zimbro&page=2')).toEqual(names('zero'));
    expect(await raw('q=zimbro+antigo')).toEqual(names('zero'));
    expect(await raw('%71=zimbro')).toEqual(names('zero'));
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
