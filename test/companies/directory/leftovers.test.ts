import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { statusReport } from '../../../src/companies/directory/index-status.ts';
import { createIndex, listIndices } from '../../../src/companies/directory/indexing/indices.ts';
import { TIDYING, withDirectoryLock } from '../../../src/companies/directory/lock.ts';
import { tidyNow } from '../../../src/companies/directory/tidy.ts';
import { checkDirectory } from '../../../src/companies/directory/watch.ts';
import { NoIndexError } from '../../../src/companies/search/elasticsearch-store.ts';
import { csv } from '../../support/companies.ts';
import { MODES } from '../../support/modes.ts';
import { searchEntries, searchOf } from '../../support/search-entries.ts';
import { until } from '../../support/until.ts';
import {
  createWorkbench,
  indicesOf,
  tablesOf,
  vocabulariesOf,
  type Workbench,
} from '../../support/workbench.ts';

/** A table with its vocabulary, and an index, as a process leaves them that dies while it builds. */
async function dieWhileBuilding({ tools, alias, mode }: Workbench): Promise<void> {
  await tools.sql`CREATE TABLE directory_g000999 (nif text)`;
  await tools.sql`CREATE TABLE directory_g000999_vocabulary (word text)`;
  const { id } = await readDirectory(tools.sql);
  const meta = { directory: id, fingerprint: '' };
  if (mode === 'full') await createIndex(tools.elasticsearch!, `${alias}-left`, meta);
}

async function left({ mode, alias, ...bench }: Workbench): Promise<string[]> {
  const indices = mode === 'full' ? await indicesOf({ alias }) : [];
  return [...(await tablesOf(bench)), ...(await vocabulariesOf(bench)), ...indices];
}

describe.each([...MODES])('what a killed run has left (%s)', (mode) => {
  test('is removed by a server that starts or looks again, and by index status, which says so', async () => {
    await using bench = await createWorkbench(mode);
    await bench.importText(csv(0, 10));
    await bench.importText(csv(0, 20));
    const inOrder = await left(bench);
    await dieWhileBuilding(bench);
    expect(await checkDirectory(bench.tools)).toEqual({ warning: null });
    expect(await left(bench)).toEqual(inOrder);

    await dieWhileBuilding(bench);
    const notes: string[] = [];
    const note = (line: string) => void notes.push(line);
    const { documents, running } = await statusReport(bench.tools, { note });
    expect([documents, running, notes]).toEqual([20, null, ['removed what a stopped run had left']]);
    expect(await left(bench)).toEqual(inOrder);
    await statusReport(bench.tools, { note });
    expect(notes).toHaveLength(1);
    expect(await bench.search('empresa')).toHaveLength(20);
    expect((await bench.rollback()).documents).toBe(10);
  });

  test('stays while a run has the lock: it may be what that run builds', async () => {
    await using bench = await createWorkbench(mode);
    await bench.importText(csv(0, 10));
    await dieWhileBuilding(bench);
    const before = await left(bench);
    await withDirectoryLock(bench.tools, 'companies import', async () => {
      expect(await tidyNow(bench.tools)).toBe(false);
      await statusReport(bench.tools, { note: () => {} });
    });
    expect(await left(bench)).toEqual(before);
    expect(await tidyNow(bench.tools)).toBe(true);
  });
});

test('a command waits for a server that tidies up, also when the clock is set meanwhile, as after a machine slept', async () => {
  await using bench = await createWorkbench('postgres');
  const { promise: isHeld, resolve: onHeld } = Promise.withResolvers<void>();
  const tidying = withDirectoryLock(bench.tools, TIDYING, async () => {
    onHeld();
    // The command has run out of its patience and has read the name of the holder.
    await until('the command', async () => {
      const [row] = await bench.database.sql`
        SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE '%import' AND query LIKE '%lock_holder AS holder%'`;
      return row !== undefined;
    });
  });
  await isHeld;
  let hours = 0;
  const clock = spyOn(Date, 'now').mockImplementation(() => 3_600_000 * hours++);
  const short = withDirectoryLock(bench.tools, 'index rebuild', async () => 'done', { patienceMs: 10 });
  expect(await short.finally(() => clock.mockRestore())).toBe('done');
  await tidying;
});

test('an index that an alias points to stays; the alias of 0.1.0 follows each change, another one stays where it is', async () => {
  await using bench = await createWorkbench('full');
  const client = bench.tools.elasticsearch!;
  const { alias } = bench;
  const targets = async (name: string) => Object.keys(await client.indices.getAlias({ name }));
  const { index: first } = await bench.importText(csv(0, 10));
  await client.indices.putAlias({ index: first, name: alias });
  await client.indices.putAlias({ index: first, name: `${alias}-own` });
  for (const rows of [20, 30, 40]) {
    const { index } = await bench.importText(csv(0, rows));
    expect(await targets(alias)).toEqual([index]);
  }
  const { index } = await bench.rebuild();
  expect(await targets(alias)).toEqual([index]);
  const { index: back } = await bench.rollback();
  expect(await targets(alias)).toEqual([back]);
  expect(await targets(`${alias}-own`)).toEqual([first]);
  expect(await indicesOf(bench)).toContain(first);
  await client.indices.deleteAlias({ index: first, name: `${alias}-own` });
  expect(await tidyNow(bench.tools)).toBe(true);
  expect(await indicesOf(bench)).toEqual([(await bench.status()).index]);
});

test('an alias that leads to the index of another database stays where it is', async () => {
  await using bench = await createWorkbench('full');
  const client = bench.tools.elasticsearch!;
  const other = `${bench.alias}-other`;
  await createIndex(client, other, { directory: 'another', fingerprint: '' });
  await client.indices.putAlias({ index: other, name: bench.alias });
  await bench.importText(csv(0, 10));
  expect(Object.keys(await client.indices.getAlias({ name: bench.alias }))).toEqual([other]);
  expect(await bench.search('empresa')).toHaveLength(10);
});

describe('two databases with one prefix on one Elasticsearch, such as a copy and its original', () => {
  let original: Workbench;
  let copy: Workbench;
  beforeEach(async () => {
    original = await createWorkbench('full');
    await original.importText(version('A1'), { replace: true });
    await original.importText(version('A2'), { replace: true });
    copy = await createWorkbench('full', { copyOf: original });
  });
  afterEach(async () => {
    await copy.close();
    await original.close();
  });

  const version = (mark: string) => csv(0, 30, (n) => (n % 2 === 0 ? `Alfa. ${mark}` : `Alfa ${mark} ${n}`));

  async function indicesOfOne({ tools, alias }: Workbench): Promise<string[]> {
    const { id } = await readDirectory(tools.sql);
    const all = await listIndices(tools.elasticsearch!, alias);
    return all.flatMap(({ name, directory }) => (directory === id ? [name] : [])).sort();
  }

  /** As an instance of the service that starts now: the mark of the names that it finds. */
  async function markOf({ tools: { elasticsearch, sql } }: Workbench): Promise<string> {
    const search = searchOf(sql, elasticsearch!);
    const entries = await searchEntries(search, 'alfa');
    return [...new Set(entries.map(({ legalName }) => / ([AB]\d)/.exec(legalName)![1]))].join();
  }

  test('a copy has no index until it builds one, and neither changes or removes what is of the other', async () => {
    const before = await indicesOfOne(original);
    expect(await indicesOfOne(copy)).toEqual([]);
    await expect(markOf(copy)).rejects.toBeInstanceOf(NoIndexError);
    expect(await checkDirectory(copy.tools)).toEqual({
      warning: 'there is no search index: run "index rebuild"',
    });
    expect(await statusReport(copy.tools, { note: () => {} })).toMatchObject({
      index: '(none)',
      agrees: false,
    });
    expect(await statusReport(original.tools, { note: () => {} })).toMatchObject({ agrees: true });

    expect(await copy.rebuild()).toMatchObject({ documents: 30 });
    expect(await markOf(copy)).toBe('A2');
    await copy.importText(version('B1'), { replace: true });
    await copy.importText(version('B2'), { replace: true });
    expect([await markOf(original), await markOf(copy)]).toEqual(['A2', 'B2']);
    expect(await indicesOfOne(original)).toEqual(before);
    await Promise.all([original.importText(version('A3'), { replace: true }), copy.rollback()]);
    await Promise.all([original.rebuild(), copy.rebuild()]);
    expect([await markOf(original), await markOf(copy)]).toEqual(['A3', 'B1']);
    expect(await checkDirectory(original.tools)).toEqual({ warning: null });
    expect(await checkDirectory(copy.tools)).toEqual({ warning: null });
    const both = [...(await indicesOfOne(original)), ...(await indicesOfOne(copy))];
    expect(await indicesOf(original)).toEqual(both.toSorted());
  });

  test('the first import of a copy builds its index, and its rollback builds that of the copied generation', async () => {
    await copy.importText(version('B1'), { replace: true });
    expect(await markOf(copy)).toBe('B1');
    await copy.rollback();
    expect([await markOf(original), await markOf(copy)]).toEqual(['A2', 'A2']);
  });

  test('the indices of a database that is gone, such as before a restore, are removed, also one that the alias of 0.1.0 has', async () => {
    const { index } = await original.status();
    const client = original.tools.elasticsearch!;
    await client.indices.putAlias({ index, name: original.alias });
    expect(await copy.rebuild()).toMatchObject({ documents: 30 });
    expect(await indicesOfOne(original)).toHaveLength(2);
    await original.database.drop();
    await checkDirectory(copy.tools);
    await checkDirectory(copy.tools);
    const { index: rebuilt } = await copy.status();
    expect(await indicesOf(copy)).toEqual([rebuilt]);
    expect(Object.keys(await client.indices.getAlias({ name: copy.alias }))).toEqual([rebuilt]);
  });
});
