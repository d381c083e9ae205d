import type { SearchEntry } from '../../src/companies/search/document.ts';
import { parseQuery } from '../../src/companies/search/query.ts';
import type { DirectorySearch } from '../../src/companies/search/search.ts';

/** The entries that a directory finds for `q`, as a caller types it. */
export async function searchEntries(directory: DirectorySearch, q: string): Promise<SearchEntry[]> {
  return (await directory.find(parseQuery(q))).entries;
}
