/** One suite for both stores of matches. */
import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createMatches } from '../../../src/companies/matches/matches.ts';
import { createWalkingStore } from '../../../src/companies/matches/matches-postgres.ts';
import { parseMatchQuery, type WordsQuery } from '../../../src/companies/matches/matches-query.ts';
import { normalizeName } from '../../../src/companies/name.ts';
import { openCurrent } from '../../../src/companies/search/current.ts';
import type { Finder } from '../../../src/companies/search/search.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { expectAnswers, matchEntries, matchesOf } from '../../support/search-entries.ts';
import { createDirectory } from '../../support/search-index.ts';
import { createMatchOracle } from '../oracles.ts';
import { numbered, testEntries } from '../search/entries.ts';

/** Half of all names have `de`, a quarter `sociedade`; words meet often, seldom or never. */
function crowd() {
  const activity = ['Padaria', 'Café', 'Oficina', 'Sociedade Agrícola', 'Sociedade Unipessoal'];
  const who = ['Silva', 'Silvano', 'Santos', 'São João', 'Braga', 'Bragança', 'Lda', 'X'];
  return Array.from({ length: 1_200 }, (_, i) => {
    const de = i % 2 === 0 ? ' de' : '';
    const end = i % 3 === 0 ? ', Lda' : i % 7 === 0 ? ' Unipessoal, Lda. e Filhos' : '';
    return `${activity[i % 5]}${de} ${who[(i * 7) % 8]}${i % 11 === 0 ? ` & ${who[i % 8]}` : ''} ${i % 40}${end}`;
  });
}

const entries = [
  ...testEntries(),
  ...numbered(800_000_000, crowd()),
  ...numbered(810_000_000, [
    'Raríssima Sociedade de Lda e Silva',
    'Silva Raríssima',
    'Zurique',
    'A Zurique, Lda',
    'B-Zurique Lda',
    'Zuriquex',
    'Padaria Padaria',
  ]),
  // Words of which one is the beginning of the other, beyond what the index has of beginnings.
  ...numbered(820_000_000, [
    `Um ${'ab'.repeat(20)}`,
    `Um ${'ab'.repeat(20)}c`,
    `Um ${'\u{20000}'.repeat(18)}`,
    `Um ${'\u{20000}'.repeat(19)}`,
    `Um ${'\u{20000}'.repeat(70)}`,
    `Um ${'\u{20000}'.repeat(70)}\u{20001}`,
    // A word of 1,980 characters and 5,940 bytes.
    `Um ${'\u337f'.repeat(495)}`,
  ]),
];
const oracle = createMatchOracle(entries);
const client = createElasticsearch({ elasticsearchUrl, elasticsearchApiKey: null })!;
const directory = await createDirectory(entries, client);
afterAll(async () => {
  await client.close();
  await directory.close();
});

const { sql } = directory;
const soonByIndex = createWalkingStore(sql, { walked: 2, lookedThrough: 12 });

/** Whether matches have an answer of their own for `q`: it is no NIF, and has at most eight words. */
function isForWords(q: string): boolean {
  const { kind, sent } = parseMatchQuery(q);
  return kind !== 'nif' && sent === undefined;
}

/** Words of a name or of two, cut somewhere: the same for every adapter. */
const words = fc
  .constantFrom(...entries.map(({ legalName }) => normalizeName(legalName)).filter((name) => name !== ''))
  .chain((name) => fc.shuffledSubarray(name.split(' '), { minLength: 1 }));
const ofNames = fc.sample(
  fc
    .record({
      words: fc.oneof(
        words,
        fc.tuple(words, words).map(([some, more]) => [some[0]!, more[0]!]),
      ),
      cut: fc.nat({ max: 8 }),
    })
    .map(({ words, cut }) => {
      const q = [...words.slice(0, 8).join(' ')];
      return q.slice(0, Math.max(1, q.length - cut)).join('');
    })
    .filter(isForWords),
  100,
);
const ofAnyText = fc.sample(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }).filter(isForWords),
  100,
);

describe.each<[string, Finder<WordsQuery>]>([
  ['Elasticsearch', matchesOf(sql, client)],
  ['Postgres', matchesOf(sql)],
  ['Postgres that soon asks its index', createMatches(openCurrent(sql, null), soonByIndex, 2)],
])('matches by %s', (_, store) => {
  const matches = (q: string) => matchEntries(store, q);
  const namesOf = async (q: string) => (await matches(q)).map(({ legalName }) => legalName);
  const expectOracle = (queries: string[]) => expectAnswers(queries, matches, oracle);

  test('names that begin with the query come first, then whole words, then the rest', async () => {
    expect(await namesOf('zurique')).toEqual(['Zurique', 'Zuriquex', 'A Zurique, Lda', 'B-Zurique Lda']);
    expect(await namesOf('silva rar')).toEqual(['Silva Raríssima', 'Raríssima Sociedade de Lda e Silva']);
  });

  test('words that are longer than the beginnings in an index are told apart by their ends', async () => {
    for (const word of [
      'ab'.repeat(20),
      '\u{20000}'.repeat(18),
      '\u{20000}'.repeat(70),
      '\u337f'.repeat(495),
    ]) {
      await expectOracle([word, `${word}c`, `um ${word}`, `${word} um`, [...word].slice(0, -1).join('')]);
    }
  });

  test('frequent words, words that never meet or stand twice, one letter and hostile texts answer what the oracle answers', async () => {
    const queries = [
      ...['de', 'sociedade', 'e', 's', 'x', 'l', '1', 'silva', 'bra', 'braga', 'lda', 'unipessoal'],
      ...['de silva', 'silva de', 'sociedade de', 'sociedade de s', 'padaria cafe', 'cafe oficina de'],
      ...['agricola x', 'unipessoal lda', 'lda unip', 'filhos e', 'sao joao de cafe e filhos 1 lda'],
      ...['de de de de de de de d', 'municipio freguesia', 'agrupamento de escolas', 'e de a o'],
      ...[
        'silva lda rarissima',
        'rarissima silva lda',
        'padaria padaria',
        'zurique zuri',
        '"',
        "'; DROP TABLE directory_generations; --",
        'a\u0000b',
      ],
      ...['de*', '{"match_all":{}}', '* de', 'silva} {x', 'silva,NULL', '\\x00 silva', '\ud800'],
      ...['?silva~2^5 OR de'],
      ...['x'.repeat(10_240), '\ufdfa', '\u{20000}'.repeat(2_000)],
    ];
    await expectOracle(queries);
  });

  test('any words of any names answer what the oracle answers', () => expectOracle(ofNames));

  test('any text at all answers what the oracle answers', () => expectOracle(ofAnyText));
});
