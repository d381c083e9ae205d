import type { Client } from '@elastic/elasticsearch';
import { openMatches } from '../../src/companies/matches/matches.ts';
import { openReader } from '../../src/companies/resolve/resolve-open.ts';
import { openCurrent } from '../../src/companies/search/current.ts';
import type { SearchEntry } from '../../src/companies/search/document.ts';
import { openSearch } from '../../src/companies/search/open-search.ts';
import type { DirectorySearch } from '../../src/companies/search/search.ts';
import { parseQuery } from '../../src/companies/search/search-query.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';

/** As an instance of the service that starts now. Without a client Postgres searches. */
export const searchOf = (sql: Sql, client: Client | null = null) =>
  openSearch(sql, client, openCurrent(sql, client));
export const matchesOf = (sql: Sql, client: Client | null = null) =>
  openMatches(sql, client, openCurrent(sql, client));
export const readerOf = (sql: Sql, client: Client | null = null) =>
  openReader(sql, client, openCurrent(sql, client));

/** The entries that a directory finds for `q`, as a caller types it. */
export async function searchEntries(directory: DirectorySearch, q: string): Promise<SearchEntry[]> {
  const { entries } = await directory.find(parseQuery(q));
  return entries.map(({ nif, legalName }) => ({ nif, legalName }));
}
