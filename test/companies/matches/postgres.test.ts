/** Matches by Postgres: the rows that they read, a directory that changes, and a Postgres that hangs. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { MATCH_BATCHES } from '../../../src/companies/matches/matches.ts';
import { createPostgresMatches } from '../../../src/companies/matches/postgres.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startProxy } from '../../support/proxy.ts';
import { readDuring } from '../../support/read-during.ts';
import { makeTableCurrent } from '../../support/search-index.ts';
import { numbered } from '../search/entries.ts';
import { createMatchOracle } from './oracle.ts';
import { createMatchTable, matchEntries, swappedDirectories } from './support.ts';

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
const oracle = createMatchOracle(crowded);
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase('matches_cost');
  await createMatchTable(database.sql, TABLE, crowded);
  await makeTableCurrent(database.sql, TABLE);
});
afterAll(() => database.drop());

test('a query reads a fraction of the 30,000 names, whatever its words', async () => {
  const one = connectPostgres(database.url, { max: 1 });
  try {
    const find = createPostgresMatches(one, MATCH_BATCHES);
    const rowsRead = async () => {
      await one`SELECT pg_stat_force_next_flush()`;
      const [counts] = await one<{ read: number }[]>`
        SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_user_tables WHERE relname = ${TABLE}`;
      return counts!.read;
    };
    const queries = [
      ...['de', 'padaria', 'p', 'silva', 'braga oficina', 'padaria oficina', 'oficina padaria n'],
      ...[
        'nome29',
        'nome29999',
        'nome29999 de',
        'silva n',
        'silva b',
        'braga silva',
        'de silvano oficina pad',
      ],
    ];
    for (const q of queries) {
      const before = await rowsRead();
      expect([q, await matchEntries(find, q)]).toEqual([q, oracle(q)]);
      expect([q, (await rowsRead()) - before < 2_000]).toEqual([q, true]);
    }
  } finally {
    await one.end({ timeout: 2 });
  }
});

test('while the directory is swapped and old tables go, every answer is of one directory as a whole', async () => {
  const { directories, queries, allowed } = swappedDirectories();
  const own = await createTestDatabase('matches_swap');
  const reader = connectPostgres(own.url, { max: 3 });
  try {
    const tableOf = (generation: number) => `directory_g${700_000 + generation}`;
    await createMatchTable(own.sql, tableOf(0), directories[0]!);
    await makeTableCurrent(own.sql, tableOf(0));
    const seen = new Set<number>();
    const find = createPostgresMatches(reader, MATCH_BATCHES);
    const read = async () => {
      for (const [i, q] of queries.entries()) {
        const from = allowed[i]!.indexOf(JSON.stringify(await matchEntries(find, q)));
        expect([q, from >= 0]).toEqual([q, true]);
        if (i === 0) seen.add(from);
      }
    };
    const change = async () => {
      for (let generation = 1; generation <= 8; generation += 1) {
        await createMatchTable(own.sql, tableOf(generation), directories[generation % 2]!);
        await makeTableCurrent(own.sql, tableOf(generation));
        await own.sql`DROP TABLE ${own.sql(tableOf(generation - 1))}`;
      }
    };
    await readDuring(change, () => read);
    expect([...seen].sort()).toEqual([0, 1]);
  } finally {
    await reader.end({ timeout: 5 });
    await own.drop();
  }
});

test('after a swap no query is answered from the directory before', async () => {
  const own = await createTestDatabase('matches_after');
  try {
    const find = createPostgresMatches(own.sql, MATCH_BATCHES);
    for (const [generation, name] of ['Azul Antigo', 'Azul Novo', 'Novo Azul'].entries()) {
      const table = `directory_g${800_000 + generation}`;
      await createMatchTable(own.sql, table, numbered(500_000_000, [name]));
      await makeTableCurrent(own.sql, table);
      expect(await matchEntries(find, 'azul')).toEqual([{ nif: '500000000', legalName: name }]);
    }
  } finally {
    await own.drop();
  }
});

test('Postgres frozen: queries fail within their bound, and work again when it is back', async () => {
  const proxy = await startProxy(database.url);
  const sql = connectPostgres(proxy.url(database.url), { max: 2 });
  try {
    const find = createPostgresMatches(sql, MATCH_BATCHES);
    expect(await matchEntries(find, 'silva braga')).toEqual(oracle('silva braga'));
    proxy.hang();
    const attempts = Array.from({ length: 50 }, () => matchEntries(find, 'silva'));
    const outcomes = await Promise.allSettled(attempts);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    proxy.up();
    expect(await matchEntries(find, 'silva')).toEqual(oracle('silva'));
  } finally {
    proxy.up();
    await sql.end({ timeout: 2 });
    await proxy.close();
  }
});
