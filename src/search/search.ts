/**
 * Search of the directory: `query.ts` reads a query, `elasticsearch.ts` and `postgres.ts` answer it, `answer-cache.ts` keeps answers.
 * Both adapters give the same results in the same order; test/search/adapters.test.ts compares them.
 */
import { SECOND } from '../units.ts';
import type { ParsedQuery } from './query.ts';

/** Results of a search at most (specification, name matching 4). */
export const MAX_RESULTS = 20;

/** A search that takes longer has failed; under load it may queue for half a second more. */
export const SEARCH_TIMEOUT_MS = 2 * SECOND;

/** What a search has found. */
export interface Found {
  /** At most {@link MAX_RESULTS} entries as they are answered: JSON, made by `writeEntry`. */
  entries: string[];
  /** The Elasticsearch index that all of them are from. `null` means that nothing was found, or that the directory has no index. */
  index: string | null;
}

export const NOTHING_FOUND: Found = { entries: [], index: null };

/**
 * The directory's search: Elasticsearch, or an index in Postgres, with the same results in the same order.
 *
 * Every answer is from one directory as a whole: while an import or a rollback swaps the directory, it is the old
 * one's or the new one's, never a mixture.
 */
export interface DirectorySearch {
  /**
   * Names whose normalized form is the query's first, then those that begin with it, both by sort key and NIF (contract:
   * order of results).
   *
   * @throws when the search fails or takes longer than {@link SEARCH_TIMEOUT_MS}
   */
  find(query: ParsedQuery): Promise<Found>;
}
