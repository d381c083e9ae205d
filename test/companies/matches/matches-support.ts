import { parseMatchQuery, type WordsQuery } from '../../../src/companies/matches/matches-query.ts';
import type { SearchEntry } from '../../../src/companies/search/document.ts';
import { searchIndexStatements } from '../../../src/companies/search/postgres-store.ts';
import type { Finder } from '../../../src/companies/search/search.ts';
import { wordsIndexStatement } from '../../../src/companies/search/words-index.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { createSearchTable } from '../../support/search-index.ts';

/** The matches for `q`, as a caller types it. */
export async function matchEntries(matches: Finder<WordsQuery>, q: string): Promise<SearchEntry[]> {
  const query = parseMatchQuery(q);
  if (query.kind === 'nothing') return [];
  if (query.kind !== 'words') throw new Error('no query for words');
  const { entries } = await matches.find(query);
  return entries.map(({ nif, legalName }) => ({ nif, legalName }));
}

/** Whether matches have an answer of their own for `q`: it is no NIF, and has at most eight words. */
export function isForWords(q: string): boolean {
  const { kind, sent } = parseMatchQuery(q);
  return kind !== 'nif' && sent === undefined;
}

/** Creates a generation's table with everything that matches need, its rows in the order of results. */
export async function createMatchTable(
  sql: Sql,
  table: string,
  entries: readonly SearchEntry[],
): Promise<void> {
  await createSearchTable(sql, `${table}_unsorted`, entries);
  await sql`CREATE TABLE ${sql(table)} AS SELECT * FROM ${sql(`${table}_unsorted`)} ORDER BY sort_key, nif`;
  await sql`DROP TABLE ${sql(`${table}_unsorted`)}`;
  for (const statement of [...searchIndexStatements(table), wordsIndexStatement(table)])
    await sql.unsafe(statement);
  await sql`VACUUM ANALYZE ${sql(table)}`;
}
