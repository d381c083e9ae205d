/** The cost of a search by Postgres. */
import { afterAll, expect, test } from 'bun:test';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createOracleSearch } from '../../support/oracle.ts';
import { searchEntries, searchOf } from '../../support/search-entries.ts';
import { createSearchTable, makeTableCurrent } from '../../support/search-index.ts';
import { numbered } from './entries.ts';

const ROWS = 20_000;
const SYLLABLES = 'a al be co do es fa gal lu mar no per ri sol ta'.split(' ');

/** Names with few beginnings, so that each has very many matches; every tenth has punctuation early on. */
const crowded = numbered(
  500_000_000,
  Array.from({ length: ROWS }, (_, i) => {
    const word = (n: number) =>
      SYLLABLES[n % 15]! + SYLLABLES[Math.floor(n / 15) % 15]! + SYLLABLES[(n * 7) % 13]!;
    const name = `${word(i)} ${word(i * 31)} ${i}`;
    return i % 10 === 0 ? `Construções A. B. ${name}, Lda` : `Construções ${name}, Lda`;
  }),
);

const database = await createTestDatabase('search_cost');
await createSearchTable(database.sql, 'crowded', crowded);
await makeTableCurrent(database.sql, 'crowded');
afterAll(() => database.drop());

test('a search reads a fraction of the 20,000 rows that begin with its query, whatever its length', async () => {
  const oracle = createOracleSearch(crowded);
  const limits: [query: string, rows: number][] = [
    ['c', 50],
    ['co', 50],
    ['construc', 50],
    // Names with punctuation up to the 16th character are looked at: a tenth of all.
    ['construcoes', ROWS / 8],
    // Punctuation comes before the end of the query in all its matches: they are sorted.
    ['construcoes a b', ROWS / 8],
    ['construcoes gal', ROWS / 8],
  ];
  for (const [q, most] of limits) {
    // Also after the five runs from which Postgres keeps one plan for all.
    for (let run = 0; run < 7; run += 1) {
      const { entries, rowsRead } = await countingRows(q);
      expect(entries).toEqual(oracle.answer(q));
      expect(rowsRead).toBeLessThan(most);
    }
  }
});

/** The answer, and how many rows of the table were fetched for it. */
async function countingRows(q: string) {
  return database.sql.begin(async (transaction) => {
    const rowsReadSoFar = async () => {
      const [counts] = await transaction<{ read: number }[]>`
        SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read
        FROM pg_stat_xact_user_tables WHERE relname = 'crowded'`;
      return counts!.read;
    };
    const before = await rowsReadSoFar();
    const entries = await searchEntries(searchOf(transaction as unknown as Sql), q);
    return { entries, rowsRead: (await rowsReadSoFar()) - before };
  });
}
