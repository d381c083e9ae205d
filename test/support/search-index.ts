import { randomBytes } from 'node:crypto';
import type { Client, estypes } from '@elastic/elasticsearch';
import { allOf, buildSearchIndexes, fillTable, finishTable } from '../../src/companies/directory/tables.ts';
import { readDirectoryId } from '../../src/companies/search/current.ts';
import type { SearchEntry } from '../../src/companies/search/document.ts';
import { directoryEntry, readMapping, searchDocument } from '../../src/companies/search/document.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { urlOf } from '../servers/shared.ts';
import { createTestDatabase } from './database.ts';

/**
 * A name that no other test uses for indices.
 * @returns the name (indices are named `<alias>-…`) and `cleanup`, which deletes those indices.
 */
export function createTestIndexAlias(): { alias: string; cleanup(): Promise<void> } {
  const alias = `test-${randomBytes(6).toString('hex')}`;
  const cleanup = async () => {
    const url = urlOf('elasticsearch');
    const list = await fetch(`${url}/_cat/indices/${alias}*?format=json&h=index&expand_wildcards=all`);
    const indices = ((await list.json()) as { index: string }[]).map(({ index }) => index);
    // By their names, because Elasticsearch refuses to delete by wildcard, and at once, because each deletion changes its cluster.
    if (indices.length > 0) await fetch(`${url}/${indices.join(',')}`, { method: 'DELETE' });
  };
  return { alias, cleanup };
}

/**
 * A directory of some entries, whatever their NIFs: its table with the indexes of both kinds of searches, and with a client its index of
 * the mapping file.
 */
export async function createDirectory(entries: readonly SearchEntry[], client: Client | null = null) {
  const database = await createTestDatabase('search');
  const { alias, cleanup } = createTestIndexAlias();
  const { url, sql } = database;
  const table = 'directory_g900000';
  await createTable(sql, table, entries);
  const index = client === null ? null : `${alias}-1`;
  if (index !== null) await createIndex(client!, index, entries, await readDirectoryId(sql));
  // The index of no rows is not asked.
  await sql`
    INSERT INTO directory_generations (id, table_name, index_name, rows, origin, created_by)
    VALUES (900000, ${table}, ${index}, ${Math.max(1, entries.length)}, 'import', 'test')`;
  await sql`UPDATE directory SET current = 900000`;
  const close = async () => {
    if (index !== null) await cleanup();
    await database.drop();
  };
  return { url, sql, table, index, close, [Symbol.asyncDispose]: close };
}

async function createTable(sql: Sql, table: string, entries: readonly SearchEntry[]): Promise<void> {
  const rows = entries.map(({ nif, legalName }) => directoryEntry(nif, legalName));
  const unsorted = `${table}_unsorted`;
  await sql`CREATE TABLE ${sql(unsorted)} (LIKE directory_g000001)`;
  await sql`
    INSERT INTO ${sql(unsorted)}
    SELECT * FROM unnest(
      ${rows.map((row) => row.nif)}::text[],
      ${rows.map((row) => row.legalName)}::text[],
      ${rows.map((row) => row.normalized)}::text[],
      ${rows.map((row) => row.sortKey)}::text[]
    )`;
  await fillTable(sql, table, allOf(unsorted));
  await sql`DROP TABLE ${sql(unsorted)}`;
  await finishTable(sql, table);
  await buildSearchIndexes(sql, table);
}

/** Creates an index with the entries, searchable at once. @param directory the id that its `_meta` has */
async function createIndex(
  client: Client,
  index: string,
  entries: readonly SearchEntry[],
  directory: string,
): Promise<void> {
  const { settings, mappings } = readMapping();
  await client.indices.create({
    index,
    settings: { ...settings, number_of_replicas: 0 } as estypes.IndicesIndexSettings,
    mappings: { ...mappings, _meta: { directory } } as estypes.MappingTypeMapping,
  });
  if (entries.length > 0) {
    const operations = entries.flatMap(({ nif, legalName }) => [
      { index: { _id: nif } },
      searchDocument(directoryEntry(nif, legalName)),
    ]);
    const { items } = await client.bulk({ index, operations, refresh: true });
    const failed = items.find(({ index: item }) => item?.error);
    if (failed) throw new Error(`an entry was refused: ${JSON.stringify(failed)}`);
  }
}
