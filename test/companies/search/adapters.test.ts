/** One suite for both stores of the search. */
import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { normalizeName } from '../../../src/companies/name.ts';
import type { SearchEntry } from '../../../src/companies/search/document.ts';
import type { DirectorySearch } from '../../../src/companies/search/search.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { expectAnswers, searchEntries, searchOf } from '../../support/search-entries.ts';
import { createDirectory } from '../../support/search-index.ts';
import { createSearchOracle } from '../oracles.ts';
import { LONG, testEntries } from './entries.ts';

const entries = testEntries();
const oracle = createSearchOracle(entries);
const client = createElasticsearch({ elasticsearchUrl, elasticsearchApiKey: null })!;
const directory = await createDirectory(entries, client);
afterAll(async () => {
  await client.close();
  await directory.close();
});

/** Beginnings of these names: the same for every adapter. */
const beginningsOf = (names: string[], maxLength: number) =>
  fc.sample(
    fc
      .record({ name: fc.constantFrom(...names), length: fc.integer({ min: 1, max: maxLength }) })
      .map(({ name, length }) => [...name].slice(0, length).join('')),
    200,
  );
const names = entries.map(({ legalName }) => legalName);
const beginnings = beginningsOf(names, 60);
const normalizedBeginnings = beginningsOf(names.map(normalizeName).filter(Boolean), 30);
const anyText = fc.sample(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), 100);
const hostile = [
  '"',
  "'; DROP TABLE directory_generations; --",
  '{"match_all":{}}',
  '\n{"index":"_all"}\n{"query":{"match_all":{}}}\n',
  'a\u0000b',
  '\u0000',
  '\u202existo',
  '\u200fzenite\u200e',
  '\ud800',
  'xisto\udc00',
  `${'x'.repeat(10_240)}`,
  `${'a '.repeat(5_120)}`,
  `${'\ufdfa'.repeat(3_000)}`,
  `${'\u{1f600}'.repeat(2_500)}`,
  'zenite\\',
  '\\u007a',
  '?xisto~2^5',
];
/** Queries that differ by punctuation, are a form, are longer than the n-grams or a name, or have a pattern's characters. */
const special = [
  ...['a b costa', 'A.B.COSTA', '(a) b-costa, lda', 'Lda', 'S. A.', LONG, `${LONG} do N`, `${LONG} x`],
  ...['a', '\ufdfa', '\u{20000}'].map((one) => one.repeat(500)),
  ...[`${'a'.repeat(499)}b`, 'a'.repeat(501), '%ercentagem', 'per_entagem', 'perc*', "o'neill"],
  ...['xisto OR zenite', '.*'],
];

describe.each<[string, DirectorySearch]>([
  ['Postgres', searchOf(directory.sql)],
  ['Elasticsearch', searchOf(directory.sql, client)],
])('search by %s', (_, store) => {
  const search = (q: string): Promise<SearchEntry[]> => searchEntries(store, q);
  const namesOf = async (q: string) => (await search(q)).map(({ legalName }) => legalName);
  const nifsOf = async (q: string) => (await search(q)).map(({ nif }) => nif);

  test('exact matches come first, the rest by sort key, both groups in one order', async () => {
    const names = await namesOf('xisto');
    expect(names.slice(0, 5)).toEqual(['- Xisto -', 'Xisto, S.A.', '«Xisto»', 'Xisto 0 Lda', 'Xisto 1 Lda']);
    expect(names[5]).toBe('Xisto 10 Lda');
    expect(names).toHaveLength(20);
  });

  test('of more than 20 exact matches the first 20 are answered, equal names by NIF', async () => {
    const found = await search('Zénite');
    expect(found).toHaveLength(20);
    expect(found.slice(0, 6).map(({ legalName }) => legalName)).toEqual(Array(6).fill('"Zenite"'));
    expect(found.slice(6, 12).map(({ legalName }) => legalName)).toEqual(
      Array(6).fill('(Zenite) Unipessoal, Lda'),
    );
    // "zenite - s.a." before "zenite, lda"
    expect(found.slice(12, 18).map(({ legalName }) => legalName)).toEqual(Array(6).fill('Zénite - S.A.'));
    expect(found.slice(18).map(({ nif }) => nif)).toEqual(['900000100', '900000101']);
    const nifs = found.slice(0, 6).map(({ nif }) => Number(nif));
    expect(nifs).toEqual([...nifs].sort((a, b) => a - b));
  });

  test('a query that ends inside a legal form finds what really begins so', async () => {
    // "Ábaco, Limitada" would be "abaco" once normalized: it doesn't begin with "abaco lim".
    expect(await namesOf('abaco, lim')).toEqual(['Ábaco, Lim', 'Ábaco Lim Norte', 'Ábaco Limite']);
    for (const q of ['abaco, lda', 'abaco ld', 'ÁBACO LIMITADA'])
      expect((await namesOf(q)).slice(0, 3)).toEqual(['Ábaco', 'Ábaco LD', 'Ábaco, Lda']);
  });

  test('order is by code point, so letters outside the BMP come after those inside', async () => {
    // Symbols are no letters: the first five are exact. U+FFE0 is U+00A2 after NFKD, U+FB50 is U+0671.
    const exact = ['Ovo \uffe0', 'Ovo \ue000', 'Ovo \u{1d11e}', 'Ovo \u{1f600}', 'Ovo \u{1f600} Lda'];
    const rest = ['Ovo \ufb50', 'Ovo \u682a', 'Ovo \ua7ff', 'Ovo \u{10437}', 'Ovo \u{20000}'];
    expect(await namesOf('ovo')).toEqual([...exact, ...rest]);
  });

  test('what normalizes to nothing finds nothing, and is found by its NIF', async () => {
    for (const q of ['***', '-', '"', '\u0301', '%', '_', '\\', '&&&']) expect(await search(q)).toEqual([]);
    expect(await search('900000900')).toEqual([{ nif: '900000900', legalName: '***' }]);
  });

  test('nine digits in a run are a NIF, whatever stands around them', async () => {
    expect(await nifsOf('500002576')).toEqual(['500002576']);
    expect(await nifsOf('PT 500.002-576, please')).toEqual(['500002576']);
    expect(await nifsOf('999999999')).toEqual([]);
    // Names that contain this NIF are not answered, because they are not its entry.
    expect(await nifsOf('Rua 509442013')).toEqual([]);
    expect(await namesOf('Rua 50944201')).toEqual(['Rua 509442013, Lda']);
  });

  test('every beginning of a name answers what the oracle answers', () =>
    expectAnswers([...beginnings, ...normalizedBeginnings], search, oracle));

  test('any text at all answers what the oracle answers', () =>
    expectAnswers([...special, ...hostile, ...anyText], search, oracle));

  test('every entry is found by its NIF', () =>
    expectAnswers(
      entries.map(({ nif }) => nif),
      search,
      oracle,
    ));
});
