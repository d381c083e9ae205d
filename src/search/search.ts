import { SECOND } from '../units.ts';
import type { ParsedQuery } from './query.ts';

/** Results of a search at most (specification, name matching 4). */
export const MAX_RESULTS = 20;

/** A search that takes longer has failed; under load it may queue for half a second more. */
export const SEARCH_TIMEOUT_MS = 2 * SECOND;

export interface SearchEntry {
  /** Nine digits. */
  nif: string;
  legalName: string;
}

/**
 * The directory's search: Elasticsearch, or an index in Postgres, with the same results in the same order.
 *
 * Every answer is from one directory as a whole: while an import or a rollback swaps the directory, it is the old
 * one's or the new one's, never a mixture.
 */
export interface DirectorySearch {
  /**
   * At most {@link MAX_RESULTS} entries: names whose normalized form is the query's first, then those that begin
   * with it, both by sort key and NIF (contract: order of results).
   *
   * @throws when the search fails or takes longer than {@link SEARCH_TIMEOUT_MS}
   */
  search(query: ParsedQuery): Promise<SearchEntry[]>;
}
