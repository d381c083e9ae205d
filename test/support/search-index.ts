import { randomBytes } from 'node:crypto';
import type { Client, estypes } from '@elastic/elasticsearch';
import { allOf, buildSearchIndexes, fillTable, finishTable } from '../../src/companies/directory/tables.ts';
import { CONFIRMED_MS, readDirectoryId } from '../../src/companies/search/current.ts';
import type { SearchEntry } from '../../src/companies/search/document.ts';
import { directoryEntry, readMapping, searchDocument } from '../../src/companies/search/document.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { urlOf } from '../servers/shared.ts';

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

/** Creates an Elasticsearch index of the mapping file and puts the entries into it, searchable at once. */
export async function createSearchIndex(
  client: Client,
  index: string,
  entries: readonly SearchEntry[],
): Promise<void> {
  const { settings, mappings } = readMapping();
  await client.indices.create({
    index,
    settings: { ...settings, number_of_replicas: 0 } as estypes.IndicesIndexSettings,
    mappings: mappings as estypes.MappingTypeMapping,
  });
  if (entries.length > 0) {
    const operations = entries.flatMap(({ nif, legalName }) => [
      { index: { _id: nif } },
      searchDocument(directoryEntry(nif, legalName)),
    ]);
    const answer = await client.bulk({ index, operations });
    const failed = answer.items.find(({ index: item }) => item?.error);
    if (failed) throw new Error(`an entry was refused: ${JSON.stringify(failed)}`);
  }
  await client.indices.refresh({ index });
}

/** Makes an index the current generation's, which has a row, as a command does: afterwards each search sees it. */
export async function makeIndexCurrent(client: Client, sql: Sql, index: string): Promise<void> {
  await client.indices.putMapping({ index, _meta: { directory: await readDirectoryId(sql) } });
  await sql.begin(async (transaction) => {
    const [row] = await transaction<{ id: number }[]>`
      INSERT INTO directory_generations (id, table_name, index_name, rows, origin, created_by)
      VALUES (nextval('directory_generation_ids'), 'none', ${index}, 1, 'import', 'test')
      ON CONFLICT (index_name) DO UPDATE SET rows = 1 RETURNING id`;
    await transaction`UPDATE directory SET current = ${row!.id}`;
  });
  await Bun.sleep(CONFIRMED_MS);
}

/** Creates a generation's table of entries, in the order of results, with the indexes of both kinds of searches. */
export async function createSearchTable(
  sql: Sql,
  table: string,
  entries: readonly SearchEntry[],
): Promise<void> {
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

/** Makes a table the current generation's. */
export async function makeTableCurrent(sql: Sql, table: string): Promise<void> {
  await sql.begin(async (transaction) => {
    const [row] = await transaction<{ id: number }[]>`
      INSERT INTO directory_generations (id, table_name, rows, origin, created_by)
      VALUES (nextval('directory_generation_ids'), ${table}, 0, 'import', 'test') RETURNING id`;
    await transaction`UPDATE directory SET current = ${row!.id}`;
  });
}
