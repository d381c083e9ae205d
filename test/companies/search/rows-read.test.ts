/** The rows that Postgres reads for an answer: a fraction of those that match, so that a large directory is as quick as a small one. */
import { expect, test } from 'bun:test';
import { openDedicated } from '../../../src/platform/postgres/dedicated.ts';
import { matchEntries, matchesOf, searchEntries, searchOf } from '../../support/search-entries.ts';
import { createDirectory } from '../../support/search-index.ts';
import { createMatchOracle, createSearchOracle } from '../oracles.ts';
import { numbered } from './entries.ts';

const ROWS = 20_000;
const SYLLABLES = 'a al be co do es fa gal lu mar no per ri sol ta'.split(' ');

/** Names with few beginnings, so that each has very many matches; every tenth has punctuation early on. */
const alike = Array.from({ length: ROWS }, (_, i) => {
  const word = (n: number) =>
    SYLLABLES[n % 15]! + SYLLABLES[Math.floor(n / 15) % 15]! + SYLLABLES[(n * 7) % 13]!;
  const name = `${word(i)} ${word(i * 31)} ${i}`;
  return i % 10 === 0 ? `Construções A. B. ${name}, Lda` : `Construções ${name}, Lda`;
});

/** Frequent words: half of all names have `de`, and `padaria` meets `oficina` in two names alone. */
const crowded = Array.from({ length: ROWS }, (_, i) => {
  const kind = i % 10_000 === 77 ? 'Padaria Oficina' : i % 2 === 0 ? 'Padaria' : 'Oficina';
  return `${kind}${i % 4 < 2 ? ' de' : ''} Nome${i} ${['Silva', 'Silvano', 'Braga'][i % 3]}${i % 5 === 0 ? ', Lda' : ''}`;
});

const SEARCHES: [query: string, most: number][] = [
  ['c', 50],
  ['co', 50],
  ['construc', 50],
  // Names with punctuation up to the 16th character are looked at: a tenth of all.
  ['construcoes', ROWS / 8],
  // Punctuation comes before the end of the query in all its matches: they are sorted.
  ['construcoes a b', ROWS / 8],
  ['construcoes gal', ROWS / 8],
];
const MATCHES = [
  ...['de', 'padaria', 'p', 'silva', 'braga oficina', 'padaria oficina', 'oficina padaria n', 'nome19'],
  ...['nome19999', 'nome19999 de', 'silva n', 'silva b', 'braga silva', 'de silvano oficina pad'],
].map((q): [query: string, most: number] => [q, 2_000]);

test.each([
  ['a search', alike, SEARCHES, createSearchOracle],
  ['a match', crowded, MATCHES, createMatchOracle],
] as const)('%s reads a fraction of the 20,000 rows', async (what, names, queries, createOracle) => {
  const entries = numbered(500_000_000, names);
  const oracle = createOracle(entries);
  await using directory = await createDirectory(entries);
  // Statistics are counted by each session.
  const session = openDedicated(directory.url, {});
  const [search, matches] = [searchOf(session), matchesOf(session)];
  const find = (q: string) => (what === 'a search' ? searchEntries(search, q) : matchEntries(matches, q));
  const rowsRead = async () => {
    await session`SELECT pg_stat_force_next_flush()`;
    const [counts] = await session<{ read: number }[]>`
      SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_user_tables
      WHERE relname = ${directory.table}`;
    return counts!.read;
  };
  for (const [q, most] of queries) {
    const expected = oracle(q);
    // Also after the five runs from which Postgres keeps one plan for all.
    for (let run = 0; run < 7; run += 1) {
      const before = await rowsRead();
      expect([q, await find(q)]).toEqual([q, expected]);
      expect([q, (await rowsRead()) - before < most]).toEqual([q, true]);
    }
  }
  await session.end();
});
