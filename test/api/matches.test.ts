/** GET /matches over HTTP, in both modes: every sentence of docs/api.md about them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Api, startApi } from '../support/api.ts';
import { ask, tokensOf } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { MODES } from '../support/modes.ts';

const NAMES = [
  'Padaria Braga, Lda',
  'Padaria Central de Braga, Lda',
  'Bragança Padaria',
  'Braga Padaria, S.A.',
  'Padaria Silva & Filhos, Lda',
  'Silva, Lda',
  ...Array.from({ length: 30 }, (_, i) => `Oficina ${String(i).padStart(2, '0')} de Lisboa`),
];
const directory = `nif,legal_name\n${NAMES.map((name, n) => `${nif(n)},"${name}"\n`).join('')}`;
/** No token flows back while a test counts them. */
const slow = { limits: { requestsPerMinute: 10 } };
const plenty = { limits: { requestsPerMinute: 100_000 }, included: 100_000 };

describe.each([...MODES])('matches over HTTP (%s)', (mode) => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi({ mode, directory });
  });
  afterAll(() => api.stop());

  const get = (key: string | null, q: string) => ask(api, `/matches?q=${encodeURIComponent(q)}`, { key });
  const namesOf = (entries: { legal_name: string }[]) => entries.map(({ legal_name }) => legal_name);
  const entryOf = (name: string) => ({
    nif: nif(NAMES.indexOf(name)),
    legal_name: name,
    status: '',
    locality: '',
    primary_cae: '',
  });

  test('a query finds names by any words, in the envelope and with the entries of the search', async () => {
    const { key } = await api.caller(plenty);
    const { status, headers, body } = await get(key, 'BRAGA padar');
    expect([status, headers.get('Content-Type')]).toEqual([200, 'application/json']);
    expect(body).toEqual({
      data: ['Braga Padaria, S.A.', 'Padaria Braga, Lda', 'Padaria Central de Braga, Lda'].map(entryOf),
      error: null,
    });
    expect(namesOf((await get(key, 'padaria brag')).body.data)).toEqual([
      'Padaria Braga, Lda',
      'Braga Padaria, S.A.',
      'Bragança Padaria',
      'Padaria Central de Braga, Lda',
    ]);
    expect((await get(key, 'padaria lisboa')).body).toEqual({ data: [], error: null });
    expect((await get(key, '***')).body).toEqual({ data: [], error: null });
  });

  test('at most 20 entries, and a NIF is a NIF query', async () => {
    const { key } = await api.caller(plenty);
    expect(namesOf((await get(key, 'lisboa')).body.data)).toEqual(NAMES.slice(6, 26));
    const spaced = nif(4).replace(/(...)(...)/, '$1 $2.');
    expect(namesOf((await get(key, `NIF ${spaced}`)).body.data)).toEqual([NAMES[4]!]);
  });

  test('a query is a token and a credit of the kind `match`, whatever it finds', async () => {
    const { accountId, key } = await api.caller(slow);
    const before = tokensOf(await ask(api, '/usage', { key }));
    await get(key, 'padaria');
    await get(key, 'nada');
    expect(before - tokensOf(await ask(api, '/usage', { key }))).toBe(3);
    expect(await api.ledger({ accountId })).toEqual({ used: 2, credits: 0 });
    const kinds = await api.sql`SELECT kind, sum(calls)::int AS calls FROM calls_by_day
      WHERE account_id = ${accountId} GROUP BY kind`;
    expect([...kinds]).toEqual([{ kind: 'match', calls: 2 }]);
  });

  test('a query of over eight words is asked by its first eight, and the answer says so', async () => {
    const { key } = await api.caller(plenty);
    const eight = 'de lisboa oficina 03 de lisboa oficina 0';
    const found = [entryOf('Oficina 03 de Lisboa')];
    const [exact, longer, withForm] = await Promise.all(
      [eight, `${eight} ninguem, Unipessoal, Lda`, `${eight}, Lda`].map((q) => get(key, q)),
    );
    expect(exact!.body).toEqual({ data: found, error: null });
    expect(longer!.body).toEqual(exact!.body);
    expect(withForm!.body).toEqual(exact!.body);
    const headers = [exact, longer, withForm].map((answer) => answer!.headers.get('X-Query-Words'));
    expect(headers).toEqual([null, '8 of 9', null]);
    const nifAmongWords = await get(key, `um dois tres quatro cinco seis sete oito nove ${nif(3)}`);
    expect([nifAmongWords.body.data, nifAmongWords.headers.get('X-Query-Words')]).toEqual([
      [entryOf(NAMES[3]!)],
      null,
    ]);
  });
});
