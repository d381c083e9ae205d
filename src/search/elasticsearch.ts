import type { Client } from '@elastic/elasticsearch';
import { BATCH_TIMEOUT_MS, createBatcher, QUEUE_TIMEOUT_MS } from '../runtime/batch.ts';
import { type Equals, equalsLines, groupNames, readEquals } from './equals.ts';
import {
  beginningsOf,
  failureOf,
  type ItemResponse,
  readHits,
  searchLines,
  sendSearches,
} from './msearch.ts';
import type { ParsedQuery } from './query.ts';
import { type DirectorySearch, MAX_RESULTS, type SearchEntry } from './search.ts';

/** How often a search is asked again while the alias moves under it. */
const MAX_ROUNDS = 4;
/**
 * Two `_msearch` of 32 searches in flight. A search queues twice as long as other items, because its credit is spent: a
 * search that is dropped from the queue is a charged `search-failed`.
 */
const BATCHES = {
  name: 'Elasticsearch',
  maxBatch: 32,
  maxConcurrentBatches: 2,
  maxQueued: 2_000,
  queueTimeoutMs: 2 * QUEUE_TIMEOUT_MS,
};

type Searchable = Exclude<ParsedQuery, { kind: 'nothing' }>;

/** Entries, and the index that all of them are from. */
export interface Found {
  entries: SearchEntry[];
  /** null: nothing was found, and nothing says where. */
  index: string | null;
}

export interface IndexedSearch extends DirectorySearch {
  /** The same search, with where its answer is from. */
  find(query: ParsedQuery): Promise<Found>;
}

const NOTHING: Found = { entries: [], index: null };

/**
 * Search in the index behind the alias. What arrives in one turn of the event loop goes into one `_msearch`.
 *
 * A name takes a search for what begins with it, and a share in one for what is equal to any of the batch's names: none of
 * them scored, all ending early because the index is sorted as they are. An answer must be from one index, also while
 * the alias moves: the beginnings are asked of the alias, the equals of the index that the alias led to last. Where the
 * beginnings' hits are from another one, the alias has moved, and both are asked again. Where nothing begins with the
 * query nothing is equal to it either.
 */
export function createElasticsearchSearch(client: Client, alias: string): IndexedSearch {
  let index: string | null = null;
  const ask = createBatcher(searchAll, BATCHES);

  async function searchAll(queries: Searchable[]): Promise<(Found | Error)[]> {
    const results = new Map<Searchable, Found | Error>();
    const deadlineMs = performance.now() + BATCH_TIMEOUT_MS;
    let open = queries;
    let together = true;
    for (let round = 0; open.length > 0 && round < MAX_ROUNDS; round += 1) {
      const askedIndex = index;
      const groups = askedIndex === null ? [] : groupNames(open, together);
      const lines = [
        ...open.flatMap((query) => searchLines(alias, filterOf(query))),
        ...groups.flatMap((names) => equalsLines(askedIndex!, names)),
      ];
      const responses = await sendSearches(client, lines, Math.max(1, deadlineMs - performance.now()));
      const equals = readEquals(groups, responses.slice(open.length));
      together = !equals.isCrowded;
      const again: Searchable[] = [];
      for (const [position, query] of open.entries()) {
        const first = responses[position]!;
        const result = readResult(query, first, equals, askedIndex);
        if (result === 'again') {
          index = readHits(first).index;
          again.push(query);
        } else results.set(query, result);
      }
      open = again;
    }
    return queries.map((query) => results.get(query) ?? new Error('the alias kept moving'));
  }

  async function find(parsed: ParsedQuery): Promise<Found> {
    if (parsed.kind === 'nothing') return NOTHING;
    const result = await ask(parsed);
    if (result instanceof Error) throw result;
    return result;
  }

  return { find, search: async (parsed) => (await find(parsed)).entries };
}

function filterOf(query: Searchable): object {
  return query.kind === 'nif' ? { term: { nif: query.nif } } : beginningsOf(query.normalized);
}

/**
 * What one query found, or why it failed; `again` where its two searches may have seen different indices, or its equals
 * are not known.
 * @param askedIndex what `equals` were asked of
 */
function readResult(
  query: Searchable,
  first: ItemResponse,
  equals: Equals,
  askedIndex: string | null,
): Found | Error | 'again' {
  const failed = failureOf(first);
  if (failed !== null) return failed;
  const found = readHits(first);
  if (found.index === null) return NOTHING;
  if (query.kind === 'nif') return found;
  const exact = equals.byName.get(query.normalized);
  if (exact === undefined || found.index !== askedIndex) return 'again';
  if (exact instanceof Error) return exact;
  if (exact.length === 0) return found;
  const isExact = new Set(exact.map(({ nif }) => nif));
  const rest = found.entries.filter(({ nif }) => !isExact.has(nif));
  return { entries: [...exact, ...rest].slice(0, MAX_RESULTS), index: found.index };
}
