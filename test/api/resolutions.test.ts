/** POST /resolutions over HTTP, in both modes: every sentence of docs/api.md about it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Api, PLENTY, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { MODES } from '../support/modes.ts';

const NAMES = [
  'LEICA MICROSISTEMAS, LDA',
  'Leica Unipessoal lda',
  'Padaria Central de Braga, Lda',
  'Padaria Central de Braga, S.A.',
  'Padaria do Norte, Lda',
];
const directory = `nif,legal_name\n${NAMES.map((name, n) => `${nif(n)},"${name}"\n`).join('')}`;
const UNKNOWN = 'Zyxwv Qponm';

const candidate = (n: number, of: object) => ({
  ...{ nif: nif(n), legal_name: NAMES[n]!, missing: 0, changed: 0, extra: 0 },
  ...of,
});

describe.each([...MODES])('resolutions over HTTP (%s)', (mode) => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi({ mode, directory });
  });
  afterAll(() => api.stop());

  const resolve = (key: string, names: unknown, headers: Record<string, string> = {}) =>
    ask(api, '/resolutions', { key, headers, json: { names } });
  const statuses = (body: { data: { status: number }[] }) => body.data.map(({ status }) => status);

  test('a name gets its words, candidates and evidence, and whether the first is clear', async () => {
    const { key } = await api.caller(PLENTY);
    const { status, headers, body } = await resolve(key, ['Leica Microssistemas', 'Braga: padaria central']);
    expect([status, headers.get('Content-Type')]).toEqual([200, 'application/json']);
    const words = (weights: Record<string, number>) =>
      Object.entries(weights).map(([word, weight]) => ({ word, weight }));
    expect(body).toEqual({
      data: [
        {
          ...{ name: 'Leica Microssistemas', status: 200, clear: true },
          words: words({ leica: 4, microssistemas: 4 }),
          candidates: [
            candidate(0, { changed: 4, evidence: ['same', { letter: 'microsistemas' }] }),
            candidate(1, { missing: 4, evidence: ['same', 'missing'] }),
          ],
        },
        {
          ...{ name: 'Braga: padaria central', status: 200, clear: false },
          words: words({ braga: 4, padaria: 2, central: 4 }),
          candidates: [
            candidate(2, { evidence: ['same', 'same', 'same'] }),
            candidate(3, { evidence: ['same', 'same', 'same'] }),
            candidate(4, { missing: 8, extra: 1, evidence: ['missing', 'same', 'missing'] }),
          ],
        },
      ],
    });
  });

  test('a text with a NIF is that NIF, also of a company that the directory lacks', async () => {
    const { accountId, key } = await api.caller(PLENTY);
    const known = `NIF PT${nif(4).replace(/(...)(...)/, '$1 $2.')}`;
    const { body } = await resolve(key, [known, nif(77)]);
    const company = candidate(4, { evidence: [] });
    expect(body.data).toEqual([
      { name: known, status: 200, clear: true, words: [], candidates: [company] },
      { name: nif(77), status: 200, clear: false, words: [], candidates: [] },
    ]);
    expect((await api.ledger({ accountId })).used).toBe(1);
  });

  test('a blank name is a validation in its place, for its credit', async () => {
    const { accountId, key } = await api.caller(PLENTY);
    const { body } = await resolve(key, ['', 'Leica', ' \t', '\ud800']);
    expect(statuses(body)).toEqual([400, 200, 400, 200]);
    expect(body.data[0].problem.type).toEndWith('/problems/validation');
    expect((await api.ledger({ accountId })).used).toBe(3);
  });

  test('a request costs at least one credit, also without any candidate', async () => {
    const { accountId, key } = await api.caller(PLENTY);
    for (const [names, used] of [
      [[UNKNOWN], 1],
      [[UNKNOWN, UNKNOWN, '***'], 2],
      [[UNKNOWN, 'Leica'], 3],
      [[UNKNOWN, ' '], 4],
    ] as const) {
      await resolve(key, names);
      expect([names, (await api.ledger({ accountId })).used]).toEqual([names, used]);
    }
  });

  test('credits are for names with a candidate, in their order; names that were read without one are answered', async () => {
    const { accountId, key } = await api.caller({ ...PLENTY, included: 2, credits: 1 });
    const names = [UNKNOWN, 'Leica', UNKNOWN, 'Leica', 'Leica', 'Leica', UNKNOWN, UNKNOWN, UNKNOWN];
    const { body, headers } = await resolve(key, names);
    // The reads end with the group of four in which the credits ended.
    expect(statuses(body)).toEqual([200, 200, 200, 200, 200, 429, 200, 200, 429]);
    expect(body.data[5].problem.type).toEndWith('/problems/monthly-quota-exceeded');
    expect(headers.get('X-Credits')).toBe('3');
    expect(await api.ledger({ accountId })).toEqual({ used: 3, credits: 0 });
    const refused = await resolve(key, ['Leica']);
    expect([refused.status, refused.body.type]).toEqual([
      429,
      expect.stringContaining('monthly-quota-exceeded'),
    ]);
  });

  test('nothing is reserved: beside a list of unknown names every credit can be spent', async () => {
    const { accountId, key } = await api.caller({ ...PLENTY, included: 3 });
    const lists = await Promise.all([1, 2].map(() => resolve(key, Array(50).fill(UNKNOWN))));
    expect(lists.map(({ status }) => status)).toEqual([200, 200]);
    expect(await api.ledger({ accountId })).toEqual({ used: 2, credits: 0 });
    expect((await resolve(key, ['Leica'])).status).toBe(200);
  });

  test('with clear_only the names that are not clear cost nothing and have no candidates', async () => {
    const { accountId, key } = await api.caller(PLENTY);
    const names = ['Leica', 'Padaria Nortte', UNKNOWN];
    const all = await resolve(key, names);
    const used = (await api.ledger({ accountId })).used;
    const clear = all.body.data.filter((item: { clear: boolean }) => item.clear).length;
    const only = await ask(api, '/resolutions', { key, json: { names, clear_only: true } });
    expect((await api.ledger({ accountId })).used - used).toBe(Math.max(1, clear));
    for (const [index, item] of only.body.data.entries()) {
      const before = all.body.data[index];
      expect(item).toEqual(before.clear ? before : { ...before, candidates: [] });
    }
  });
});
