/** The rows that matches by Postgres read. */
import { expect, test } from 'bun:test';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { matchesOf } from '../../support/search-entries.ts';
import { createSearchTable, makeTableCurrent } from '../../support/search-index.ts';
import { numbered } from '../search/entries.ts';
import { createMatchOracle } from './matches-oracle.ts';
import { matchEntries } from './matches-support.ts';

const NAMES = 30_000;
const TABLE = 'directory_g900000';

/** Frequent words: half of all names have `de`, and `padaria` meets `oficina` in three names alone. */
const crowded = numbered(
  500_000_000,
  Array.from({ length: NAMES }, (_, i) => {
    const kind = i % 10_000 === 77 ? 'Padaria Oficina' : i % 2 === 0 ? 'Padaria' : 'Oficina';
    return `${kind}${i % 4 < 2 ? ' de' : ''} Nome${i} ${['Silva', 'Silvano', 'Braga'][i % 3]}${i % 5 === 0 ? ', Lda' : ''}`;
  }),
);

test('a query reads a fraction of the 30,000 names, whatever its words', async () => {
  await using database = await createTestDatabase('matches_cost');
  await createSearchTable(database.sql, TABLE, crowded);
  await makeTableCurrent(database.sql, TABLE);
  const oracle = createMatchOracle(crowded);
  const one = connectPostgres(database.url, { max: 1 });
  const find = matchesOf(one);
  const rowsRead = async () => {
    await one`SELECT pg_stat_force_next_flush()`;
    const [counts] = await one<{ read: number }[]>`
      SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_user_tables WHERE relname = ${TABLE}`;
    return counts!.read;
  };
  for (const q of [
    ...['de', 'padaria', 'p', 'silva', 'braga oficina', 'padaria oficina', 'oficina padaria n', 'nome29'],
    ...['nome29999', 'nome29999 de', 'silva n', 'silva b', 'braga silva', 'de silvano oficina pad'],
  ]) {
    const before = await rowsRead();
    expect([q, await matchEntries(find, q)]).toEqual([q, oracle(q)]);
    expect([q, (await rowsRead()) - before < 2_000]).toEqual([q, true]);
  }
  await one.end({ timeout: 2 });
});
