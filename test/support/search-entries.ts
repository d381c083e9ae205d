import type { SearchEntry } from '../../src/search/document.ts';
import { parseQuery } from '../../src/search/query.ts';
import type { SearchAnswer } from '../../src/search/schema.ts';
import type { DirectorySearch } from '../../src/search/search.ts';

/** What a directory finds for `q`, as a caller types it. */
export async function searchEntries(directory: DirectorySearch, q: string): Promise<SearchEntry[]> {
  const { entries } = await directory.find(parseQuery(q));
  return entries.map((json) => {
    const { nif, legal_name } = JSON.parse(json) as SearchAnswer['data'][number];
    return { nif, legalName: legal_name };
  });
}
