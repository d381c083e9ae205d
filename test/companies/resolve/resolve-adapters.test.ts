/** Names resolved by Postgres, by Elasticsearch and by the oracle: equal in NIFs, order, sums, evidence and `clear`. */
import { afterAll, describe, expect, test } from 'bun:test';
import { buildSearchIndexes } from '../../../src/companies/directory/tables.ts';
import { resolveNames } from '../../../src/companies/resolve/resolve.ts';
import type { SearchEntry } from '../../../src/companies/search/document.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import '../../support/modes.ts';
import { readerOf } from '../../support/search-entries.ts';
import { createWorkbench, tablesOf } from '../../support/workbench.ts';
import { csvOf, DIRECTORY, hardNames, plain, SPELLINGS, STRANGERS } from './names.ts';
import { createResolveOracle, type OracleAnswer } from './resolve-oracle.ts';

const NAMES = [...SPELLINGS.map(({ written }) => written), ...STRANGERS, ...hardNames()];

const bench = await createWorkbench('full');
await bench.importText(csvOf(DIRECTORY));
const table = (await tablesOf(bench)).at(-1);
const entries = await bench.database.sql<SearchEntry[]>`
  SELECT nif, legal_name AS "legalName" FROM ${bench.database.sql(table!)}`;
const oracle = createResolveOracle(entries);
await buildSearchIndexes(bench.database.sql, table!);
const sql = connectPostgres(bench.database.url, { max: 2, pointQueries: true });
afterAll(async () => {
  await sql.end();
  await bench.close();
});

describe.each([
  ['Postgres', readerOf(sql)],
  ['Elasticsearch', readerOf(sql, bench.tools.elasticsearch!)],
] as const)('%s', (_, withReader) => {
  async function resolveAll(names: string[]): Promise<OracleAnswer[]> {
    const answers: OracleAnswer[] = [];
    for (let from = 0; from < names.length; from += 10) {
      const some = names.slice(from, from + 10);
      answers.push(...(await withReader((reader) => resolveNames(reader, some))).map(plain));
    }
    return answers;
  }

  test('answers as the rule says, computed from the whole directory', async () => {
    const answers = await resolveAll(NAMES);
    for (const [at, name] of NAMES.entries()) expect([name, answers[at]!]).toEqual([name, oracle(name)]);
  });

  test('finds real spellings, is right when it is clear, and calls no stranger clear', async () => {
    const answers = await resolveAll([...SPELLINGS.map(({ written }) => written), ...STRANGERS]);
    const ofPairs = SPELLINGS.map(({ nif }, at) => ({ nif, ...answers[at]! }));
    const nifsOf = ({ candidates }: OracleAnswer) => candidates.map(({ nif }) => nif);
    const share = (test: (one: (typeof ofPairs)[number]) => boolean) =>
      ofPairs.filter(test).length / ofPairs.length;
    expect(share((one) => nifsOf(one)[0] === one.nif)).toBeGreaterThanOrEqual(0.7);
    expect(share((one) => nifsOf(one).includes(one.nif))).toBeGreaterThanOrEqual(0.81);
    expect(share(({ clear }) => clear)).toBeGreaterThanOrEqual(0.33);
    expect(ofPairs.filter((one) => one.clear && nifsOf(one)[0] !== one.nif)).toEqual([]);
    expect(answers.slice(SPELLINGS.length).filter(({ clear }) => clear)).toEqual([]);
  });
});
