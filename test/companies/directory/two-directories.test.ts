/** Two databases with one prefix on one Elasticsearch, such as a copy of a database and its original. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { statusReport } from '../../../src/companies/directory/index-status.ts';
import { listIndices } from '../../../src/companies/directory/indexing/indices.ts';
import { checkDirectory } from '../../../src/companies/directory/watch.ts';
import { NoIndexError } from '../../../src/companies/search/elasticsearch-store.ts';
import { csv } from '../../support/companies.ts';
import '../../support/modes.ts';
import { searchEntries, searchOf } from '../../support/search-entries.ts';
import { createWorkbench, indicesOf, type Workbench } from '../../support/workbench.ts';

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
