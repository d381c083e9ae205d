import type { Client } from '@elastic/elasticsearch';
import { nodePool } from '../elasticsearch/nodes.ts';
import { batchTotals } from '../runtime/batch-totals.ts';
import { BATCH_TIMEOUT_MS, createBatcher, QUEUE_TIMEOUT_MS } from '../runtime/batcher.ts';
import { SECOND } from '../units.ts';
import { type Equals, equalsLines, groupNames, readEquals } from './exact-matches.ts';
import { SearchError, type SearchOutcome } from './hits.ts';
import { prefixFilter, searchLines, sendSearches } from './msearch.ts';
import type { ParsedQuery } from './query.ts';
import {
  DirectoryAwayError,
  type DirectorySearch,
  MAX_RESULTS,
  NOTHING_FOUND,
  type SearchResult,
} from './search.ts';

/** The most repeats of a search while the alias moves. */
const MAX_ROUNDS = 4;
/** When no node has answered for this long, a search is not tried (contract: problem details). */
const AWAY_AFTER_MS = 3 * SECOND;
/**
 * Two `_msearch` of 32 searches in flight. A search may queue twice as long as other items, because its credit is spent.
 */
const BATCHES = {
  name: 'Elasticsearch',
  totals: batchTotals.search,
  maxBatch: 32,
  maxConcurrentBatches: 2,
  queueTimeoutMs: 2 * QUEUE_TIMEOUT_MS,
} as const;

type Searchable = Exclude<ParsedQuery, { kind: 'nothing' }>;

/**
 * Search in the index behind the alias. Searches of one turn of the event loop share one `_msearch`.
 *
 * A name takes a search for its prefix, and a share in one for all names that equal any of the batch's. No search is scored, and
 * all end early, because the index has the order of results. An answer must be from one index, also while the alias moves. So
 * prefixes are asked of the alias, and equal names of the last known index. If the prefix's hits are from another index, the
 * alias has moved, and both are repeated. If no name has the prefix, no name equals it.
 */
export function createElasticsearchSearch(client: Client, alias: string): DirectorySearch {
  let index: string | null = null;
  const ask = createBatcher(searchAll, BATCHES);

  async function searchAll(queries: Searchable[]): Promise<(SearchResult | Error)[]> {
    throwIfAway(client);
    const results = new Map<Searchable, SearchOutcome>();
    const deadlineMs = performance.now() + BATCH_TIMEOUT_MS;
    let open = queries;
    let together = true;
    for (let round = 0; open.length > 0 && round < MAX_ROUNDS; round += 1) {
      const askedIndex = index;
      const groups = askedIndex === null ? [] : groupNames(open, together);
      const searches = [
        ...open.map((query) => searchLines(alias, filterOf(query))),
        ...groups.map((names) => equalsLines(askedIndex!, names)),
      ];
      const outcomes = await sendSearches(client, searches, Math.max(1, deadlineMs - performance.now()));
      const equals = readEquals(groups, outcomes.slice(open.length));
      together = !equals.isTruncated;
      const again: Searchable[] = [];
      for (const [position, query] of open.entries()) {
        const first = outcomes[position]!;
        const result = resultOf(query, first, equals, askedIndex);
        if (result === 'again') {
          index = (first as SearchResult).index;
          again.push(query);
        } else results.set(query, result);
      }
      open = again;
    }
    return queries.map((query) => results.get(query) ?? new Error('the alias kept moving'));
  }

  async function find(parsed: ParsedQuery): Promise<SearchResult> {
    if (parsed.kind === 'nothing') return NOTHING_FOUND;
    const result = await ask(parsed);
    if (result instanceof Error) throw result;
    return result;
  }

  return { find };
}

/** @throws DirectoryAwayError when no node has answered for too long to try a search */
export function throwIfAway(client: Client): void {
  if (nodePool(client).downMs() > AWAY_AFTER_MS)
    throw new DirectoryAwayError('no Elasticsearch node answers');
}

function filterOf(query: Searchable): object {
  return query.kind === 'nif' ? { term: { nif: query.nif } } : prefixFilter(query.normalized);
}

/**
 * The result of one query, or its failure; `again` if its two searches may have seen different indices, or its equal names
 * are not known.
 * @param askedIndex the index of `equals`
 */
function resultOf(
  query: Searchable,
  first: SearchOutcome,
  equals: Equals,
  askedIndex: string | null,
): SearchOutcome | 'again' {
  if (first instanceof SearchError || first.index === null || query.kind === 'nif') return first;
  const exact = equals.byName.get(query.normalized);
  if (exact === undefined || first.index !== askedIndex) return 'again';
  if (exact instanceof SearchError) return exact;
  if (exact.length === 0) return first;
  const isExact = new Set(exact.map(({ nif }) => nif));
  const rest = first.entries.filter(({ nif }) => !isExact.has(nif));
  return { entries: [...exact, ...rest].slice(0, MAX_RESULTS), index: first.index };
}
