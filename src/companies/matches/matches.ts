/**
 * Names by any of their words (docs/api.md: by any words). `query.ts` reads a query, `elasticsearch.ts` and `postgres.ts` answer it (the
 * latter by the index of `words-index.ts`), and `tiers.ts` has the order. Both adapters first ask for all matches in the order
 * of sort keys. If these are few, they are put in
 * order here; otherwise the first ones of each kind are asked for. test/companies/matches/adapters.test.ts compares the adapters.
 */

import { type BatchOptions, QUEUE_TIMEOUT_MS } from '../../platform/runtime/batcher.ts';
import type { SearchResult } from '../search/search.ts';
import type { WordsQuery } from './query.ts';

/**
 * The first `limit` matches, from one directory: while an import or a rollback swaps the directory, from the old one or
 * the new one.
 * @throws when the search fails or takes longer than `SEARCH_TIMEOUT_MS`
 */
export type FindMatches = (query: WordsQuery, limit: number) => Promise<SearchResult>;

/** How queries share questions to the directory. A query may queue twice as long as other items, because its credit is charged. */
export const MATCH_BATCHES: BatchOptions = {
  name: 'the directory',
  stage: 'match',
  maxBatch: 32,
  maxConcurrentBatches: 2,
  queueTimeoutMs: 2 * QUEUE_TIMEOUT_MS,
};
