/**
 * Search of the directory: `query.ts` reads a query, `elasticsearch.ts` and `postgres.ts` answer it, `answer-cache.ts` keeps answers.
 * Both adapters give the same results in the same order; test/companies/search/adapters.test.ts compares them.
 */
import { SECOND } from '../../platform/units.ts';
import type { SearchEntry } from './document.ts';
import type { ParsedQuery } from './query.ts';

/** The most results of a search (specification, name matching 4). */
export const MAX_RESULTS = 20;

/** Of a question for words: keys of which a name has one, and each key's words, of which it has all. */
export type WordGroup = readonly (readonly string[])[];

/** A search that takes longer fails. Under load it may queue before that. */
export const SEARCH_TIMEOUT_MS = 2 * SECOND;

export interface SearchResult {
  /** At most {@link MAX_RESULTS}. */
  entries: SearchEntry[];
  /** The Elasticsearch index of all of them; `null` if none was asked. */
  index: string | null;
}

export const NOTHING_FOUND: SearchResult = { entries: [], index: null };

/** The directory can't be asked, so the search was not tried. */
export class DirectoryAwayError extends Error {
  override readonly name = 'DirectoryAwayError';
}

/**
 * The directory's search: Elasticsearch, or an index in Postgres, with the same results in the same order.
 *
 * Every answer is from one directory. While an import or a rollback swaps the directory, it is from the old one or the new one,
 * never a mixture.
 */
export interface DirectorySearch {
  /**
   * Names that equal the query in normalized form, then those that begin with it, both by sort key and NIF (docs/api.md: order of results).
   *
   * @throws DirectoryAwayError when the search was not tried; another error when it fails or takes longer than
   * {@link SEARCH_TIMEOUT_MS}
   */
  find(query: ParsedQuery): Promise<SearchResult>;
}
