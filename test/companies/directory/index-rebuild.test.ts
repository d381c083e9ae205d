/** `index rebuild` and `index rollback`, and the health of the index that a server sees. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import type { Client } from '@elastic/elasticsearch';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { checkDirectory } from '../../../src/companies/directory/watch.ts';
import type { readMapping } from '../../../src/companies/search/document.ts';
import { csv, nif } from '../../support/companies.ts';
import { MODES } from '../../support/modes.ts';
import { searchEntries, searchOf } from '../../support/search-entries.ts';
import {
  createWorkbench,
  indicesOf,
  tablesOf,
  vocabulariesOf,
  type Workbench,
} from '../../support/workbench.ts';

let bench: Workbench;
afterEach(() => bench.close());

/** Changes the current rows to what another normalization might have made of them. */
async function spoilNormalization(): Promise<void> {
  const { sql } = bench.database;
  const { table, id } = (await readDirectory(sql)).current;
  await sql`UPDATE ${sql(table)} SET normalized_name = 'old ' || nif, sort_key = nif`;
  await sql`UPDATE directory_generations SET normalization = 'another' WHERE id = ${id}`;
}

describe.each([...MODES])('%s', (mode) => {
  beforeEach(async () => {
    bench = await createWorkbench(mode);
  });

  test('a rollback returns search and Postgres to before the last import, once, also if that was the first', async () => {
    const stateOf = async () => [await bench.rows(), await bench.search('empresa')];
    await bench.importText(csv(0, 30));
    const [before, { index }] = [await stateOf(), await bench.status()];
    await bench.importText(csv(10, 31, (n) => `Outra ${n}`));
    expect(await bench.search('outra')).toHaveLength(20);
    expect(await bench.status()).toMatchObject({ previous: index, documents: 31 });

    expect(await bench.rollback()).toEqual({ index, previous: null, documents: 30 });
    expect([await stateOf(), await bench.search('outra')]).toEqual([before, []]);
    // It removes what it has undone.
    expect([await tablesOf(bench), await vocabulariesOf(bench)]).toMatchObject([
      { length: 1 },
      { length: 1 },
    ]);
    if (mode === 'full') expect(await indicesOf(bench)).toEqual([index]);
    await expect(bench.rollback()).rejects.toThrow('there is nothing to return to');
    // The next import counts against what is there.
    expect(await bench.importText(csv(25, 35))).toMatchObject({ read: 10, imported: 5, unchanged: 5 });
    await bench.rollback();
    expect(await stateOf()).toEqual(before);
  });

  test('the first import can be undone: the directory is empty then', async () => {
    await bench.importText(csv(0, 30));
    expect(await bench.rollback()).toMatchObject({ previous: null, documents: 0 });
    expect([await bench.search('empresa'), await bench.rows()]).toEqual([[], []]);
    expect(await checkDirectory(bench.tools)).toEqual({ warning: null });
  });

  test('a rebuild changes what serves, not what a rollback returns to', async () => {
    await bench.importText(csv(0, 10));
    await bench.importText(csv(10, 20));
    const before = await bench.status();
    const after = await bench.rebuild();
    expect(after).toEqual({ index: expect.any(String), previous: before.previous, documents: 20 });
    expect(after.index).not.toBe(before.index);
    expect(await bench.search('empresa')).toHaveLength(20);
    if (mode === 'full') expect(await indicesOf(bench)).toEqual([after.index, after.previous!].toSorted());
    expect(await tablesOf(bench)).toHaveLength(2);
    await bench.rollback();
    expect([(await bench.rows()).length, (await bench.search('empresa')).length]).toEqual([10, 10]);
  });

  test.each([
    ['a rebuild', () => bench.rebuild()],
    ['an import', () => bench.importText(csv(20, 21))],
    ['a replacement', () => bench.importText(csv(0, 21), { replace: true })],
  ])('%s brings a directory that another version has normalized up to date', async (_, change) => {
    await bench.importText(csv(0, 20));
    await spoilNormalization();
    expect(await checkDirectory(bench.tools)).toEqual({
      warning: 'the directory was normalized by another version: run "index rebuild"',
    });
    await change();
    expect(await checkDirectory(bench.tools)).toEqual({ warning: null });
    expect(await bench.search('empresa 000003')).toEqual([`${nif(3)} Empresa 000003`]);
    const { sql } = bench.database;
    const { table } = (await readDirectory(sql)).current;
    const [row] = await sql`SELECT normalized_name, sort_key FROM ${sql(table)} WHERE nif = ${nif(3)}`;
    expect({ ...row }).toEqual({ normalized_name: 'empresa 000003', sort_key: 'empresa 000003' });
    expect(await tablesOf(bench)).toHaveLength(2);
  });
});

const _shards = { total: 1, successful: 1, skipped: 0, failed: 0 };
const missing = (client: Client) => spyOn(client, 'count').mockResolvedValue({ count: 19, _shards });

/** Creates indices by an edited mapping file. */
const edited = (edit: (mapping: ReturnType<typeof readMapping>) => void) => (client: Client) => {
  const create = client.indices.create.bind(client.indices);
  return spyOn(client.indices, 'create').mockImplementation(((given: never, options: never) => {
    edit(given);
    return create(given, options);
  }) as never);
};

describe('an index in Elasticsearch', () => {
  beforeEach(async () => {
    bench = await createWorkbench('full');
  });

  test('that can answer no question is replaced by an import', async () => {
    const { index } = await bench.importText(csv(0, 30));
    await bench.tools.elasticsearch!.indices.close({ index });
    await bench.importText(csv(10, 31, (n) => `Outra ${n}`));
    expect(await bench.search('outra')).toHaveLength(20);
    expect((await bench.status()).index).not.toBe(index);
  });

  test('is one segment when it is built: a search looks into each', async () => {
    // Three bulk requests, which Elasticsearch writes side by side: each is of 100 pages of the table, here of some 500 rows.
    const { index } = await bench.importText(csv(0, 1_500, (n) => `Empresa ${n} ${'Lda '.repeat(110)}`));
    const { indices } = await bench.tools.elasticsearch!.indices.segments({ index });
    const shards = Object.values(indices).flatMap(({ shards }) => Object.values(shards).flat());
    expect(shards.map(({ segments }) => Object.keys(segments).length)).toEqual([1]);
  });

  test.each<[what: string, spoil: (client: Client) => { mockRestore(): void }, told: string]>([
    ['lacks an entry', missing, 'the new index has 19 documents for 20 rows'],
    [
      'finds no short beginnings, as its mapping file was edited',
      edited(({ settings }) => (settings.analysis.filter.beginnings.min_gram = 3)),
      "don't find NIF",
    ],
    [
      'finds no words',
      edited(({ mappings }) => (mappings.properties.normalized_name.fields.words.analyzer = 'beginnings')),
      "don't find NIF",
    ],
    [
      'finds no NIFs',
      edited(({ mappings }) => Object.assign(mappings.properties.nif, { index: false })),
      'Elasticsearch answered',
    ],
  ])('that %s is refused before searches go to it', async (_, spoil, told) => {
    await bench.importText(csv(0, 10));
    const before = [await bench.status(), await indicesOf(bench)];
    const spoiled = spoil(bench.tools.elasticsearch!);
    await expect(bench.importText(csv(0, 20))).rejects.toThrow(told);
    spoiled.mockRestore();
    expect([await bench.status(), await indicesOf(bench)]).toEqual(before);
  });

  test('is not needed by an empty directory', async () => {
    expect(await checkDirectory(bench.tools)).toEqual({ warning: null });
    const { elasticsearch, sql } = bench.tools;
    expect(await searchEntries(searchOf(sql, elasticsearch), 'empresa')).toEqual([]);
    expect(await indicesOf(bench)).toEqual([]);
  });

  test('of another mapping is noticed, and a rebuild brings it up to date', async () => {
    const { index } = await bench.importText(csv(0, 10));
    const { indices } = bench.tools.elasticsearch!;
    const mapping = await indices.getMapping({ index });
    const _meta = { ...mapping[index]!.mappings._meta, fingerprint: 'another' };
    await indices.putMapping({ index, _meta });
    expect(await checkDirectory(bench.tools)).toEqual({
      warning: 'the search index was built by another version: run "index rebuild"',
    });
    await bench.rebuild();
    expect(await checkDirectory(bench.tools)).toEqual({ warning: null });
  });

  test('is followed by indexes in Postgres when it is taken away: a rebuild makes them, and so does a rollback', async () => {
    await bench.importText(csv(0, 10));
    await bench.importText(csv(10, 20));
    const { elasticsearch } = bench.tools;
    bench.tools.elasticsearch = null;
    try {
      expect(await checkDirectory(bench.tools)).toEqual({
        warning: 'the directory has no indexes for searches in Postgres yet: run "index rebuild"',
      });
      expect(await bench.search('empresa 00001')).toHaveLength(10);
      for (const [change, rows] of [
        [bench.rebuild, 20],
        [bench.rollback, 10],
      ] as const) {
        await change();
        expect(await checkDirectory(bench.tools)).toEqual({ warning: null });
        expect(await bench.search('empresa')).toHaveLength(rows);
      }
    } finally {
      bench.tools.elasticsearch = elasticsearch;
    }
  });
});
