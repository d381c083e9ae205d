import type { Client } from '@elastic/elasticsearch';
import { nodePool } from '../../platform/elasticsearch/nodes.ts';
import { BATCH_TIMEOUT_MS, type BatchOptions, createBatcher } from '../../platform/runtime/batcher.ts';
import { SECOND } from '../../platform/units.ts';
import { type CurrentIndex, indexOf, NoIndexError } from './current-index.ts';
import type { SearchEntry } from './document.ts';
import { SearchError, type SearchOutcome } from './hits.ts';
import { type SearchLines, sendSearches } from './msearch.ts';
import { DirectoryAwayError, NOTHING_FOUND, type SearchResult } from './search.ts';

/** When no node has answered for this long, a search is not tried (docs/api.md: problems). */
const AWAY_AFTER_MS = 3 * SECOND;
const NOT_FOUND = 404;

/** Sends searches as one `_msearch`, within the time of the batch. @throws NoIndexError when the index is lost */
export type Send = (searches: SearchLines[]) => Promise<SearchOutcome[]>;

/**
 * Answers queries in batches, each from the current index. An empty directory has nothing to find, and its index is not asked.
 * @param ask the outcomes of some queries, in their order
 */
export function createIndexBatches<Query>(
  client: Client,
  current: CurrentIndex,
  batches: BatchOptions,
  ask: (queries: Query[], index: string, send: Send) => Promise<SearchOutcome[]>,
): (query: Query) => Promise<SearchResult> {
  const askBatch = createBatcher<Query, SearchResult | SearchError>(async (queries, bound) => {
    assertNotAway(client);
    const deadlineMs = performance.now() + BATCH_TIMEOUT_MS;
    const send: Send = async (searches) =>
      assertFound(await sendSearches(client, searches, Math.max(1, deadlineMs - performance.now())));
    return current.read<(SearchResult | SearchError)[]>(async (generation) => {
      if (generation.rows === 0) return queries.map(() => NOTHING_FOUND);
      const index = indexOf(generation);
      const outcomes = await ask(queries, index, send);
      return outcomes.map((outcome) =>
        outcome instanceof SearchError ? outcome : { entries: outcome, index },
      );
    }, bound);
  }, batches);

  return async (query) => {
    const outcome = await askBatch(query);
    if (outcome instanceof SearchError) throw outcome;
    return outcome;
  };
}

/** @throws DirectoryAwayError when no node has answered for {@link AWAY_AFTER_MS} */
export function assertNotAway(client: Client): void {
  if (nodePool(client).downMs() > AWAY_AFTER_MS)
    throw new DirectoryAwayError('no Elasticsearch node answers');
}

/** The outcomes of searches of one index. @throws NoIndexError when Elasticsearch doesn't have it */
export function assertFound<Entry extends SearchEntry>(
  outcomes: SearchOutcome<Entry>[],
): SearchOutcome<Entry>[] {
  if (outcomes.some((outcome) => outcome instanceof SearchError && outcome.status === NOT_FOUND))
    throw new NoIndexError();
  return outcomes;
}
