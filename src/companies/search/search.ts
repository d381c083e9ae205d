/**
 * Search of the directory: `search-query.ts` reads a query, `elasticsearch-store.ts` and `postgres-store.ts` are the stores that it is
 * asked of (`generation-reader.ts`), `answer.ts` keeps answers. Both stores give the same results in the same order;
 * test/companies/search/adapters.test.ts compares them.
 */
import type { CurrentDirectory } from './current.ts';
import type { SearchEntry } from './document.ts';
import type { OpenGeneration } from './generation-reader.ts';
import type { ParsedQuery } from './search-query.ts';

/** The most results of a search (specification, name matching 4). */
export const MAX_RESULTS = 20;

/** The first of some entries. One that is there twice counts where it comes first. */
export const firstOf = <Entry extends SearchEntry>(entries: Entry[], limit: number): Entry[] =>
  [...new Map(entries.map((entry) => [entry.nif, entry])).values()].slice(0, limit);

export interface SearchResult {
  /** At most {@link MAX_RESULTS}. */
  entries: SearchEntry[];
  /** The id of the generation of all of them; `null` if none was asked. */
  generation: number | null;
}

/** The directory can't be asked, so the search was not tried. */
export class DirectoryAwayError extends Error {
  override readonly name = 'DirectoryAwayError';
}

/** The directory, asked for queries of one kind. Every answer is from one generation, also while an import or a rollback replaces it. */
export interface Finder<Query> {
  /**
   * Names that equal the query in normalized form, then those that begin with it, both by sort key and NIF (docs/api.md: order of
   * results); of matches see matches.ts.
   *
   * @throws DirectoryAwayError when the search was not tried; another error when it fails or has no
   * answer within 2 s
   */
  find(query: Query): Promise<SearchResult>;
}

export type DirectorySearch = Finder<ParsedQuery>;

export function createSearch(current: CurrentDirectory, open: OpenGeneration): DirectorySearch {
  return {
    async find(query) {
      if (query.kind === 'nothing') return { entries: [], generation: null };
      return current.read(async (generation) => {
        const reader = open(generation);
        const asked =
          query.kind === 'nif' ? reader.byNif(query.nif) : reader.byPrefix(query.normalized, true);
        return { entries: await asked, generation: generation.id };
      });
    },
  };
}
