import type { Client } from '@elastic/elasticsearch';
import { nodePool } from '../../platform/elasticsearch/nodes.ts';
import { BATCH_TIMEOUT_MS, type BatchOptions, createBatcher } from '../../platform/runtime/batcher.ts';
import { SECOND } from '../../platform/units.ts';
import { SearchError, type SearchOutcome } from './hits.ts';
import { type SearchLines, sendSearches } from './msearch.ts';
import { DirectoryAwayError, type SearchResult } from './search.ts';

/** The most rounds of a batch while the alias moves. */
const MAX_ROUNDS = 4;
/** When no node has answered for this long, a search is not tried (docs/api.md: problems). */
const AWAY_AFTER_MS = 3 * SECOND;
const TOO_MANY_REQUESTS = 429;

/** Sends searches as one `_msearch`, within the time of the batch. */
export type Send = (searches: SearchLines[]) => Promise<SearchOutcome[]>;

/** `again` if the searches of a query may have seen different indices. */
export type RoundOutcome = SearchOutcome | 'again';

/**
 * Answers queries in batches, each query from one index, also while an import moves the alias and removes the old index.
 *
 * A batch takes a round, and more of them for the queries without an outcome. Elasticsearch fails the searches of an index
 * that it removes, in several ways. The alias has moved by then, so a query that failed gets a second try.
 *
 * @param askRound the outcomes of some queries, in their order
 */
export function createRounds<Query>(
  client: Client,
  batches: BatchOptions,
  askRound: (queries: Query[], send: Send, round: number) => Promise<RoundOutcome[]>,
): (query: Query) => Promise<SearchResult> {
  const ask = createBatcher(async (queries: Query[]) => {
    assertNotAway(client);
    const deadlineMs = performance.now() + BATCH_TIMEOUT_MS;
    const send: Send = (searches) =>
      sendSearches(client, searches, Math.max(1, deadlineMs - performance.now()));
    const all = queries.map((query) => ({ query, outcome: 'again' as RoundOutcome, failures: 0 }));
    let open = all;
    for (let round = 0; open.length > 0 && round < MAX_ROUNDS; round += 1) {
      const outcomes = await askRound(
        open.map(({ query }) => query),
        send,
        round,
      );
      open = open.filter((one, position) => {
        one.outcome = outcomes[position]!;
        if (one.outcome === 'again') return true;
        return mayBeRemoved(one.outcome) && ++one.failures === 1;
      });
    }
    return all.map(({ outcome }) => outcome);
  }, batches);

  return async (query) => {
    const outcome = await ask(query);
    if (outcome === 'again') throw new Error('the alias kept moving');
    if (outcome instanceof SearchError) throw outcome;
    return outcome;
  };
}

/** @throws DirectoryAwayError when no node has answered for {@link AWAY_AFTER_MS} */
export function assertNotAway(client: Client): void {
  if (nodePool(client).downMs() > AWAY_AFTER_MS)
    throw new DirectoryAwayError('no Elasticsearch node answers');
}

/** Whether a search may have failed because its index is removed. An Elasticsearch without room is not asked again. */
const mayBeRemoved = (outcome: SearchOutcome) =>
  outcome instanceof SearchError && outcome.status !== TOO_MANY_REQUESTS;
