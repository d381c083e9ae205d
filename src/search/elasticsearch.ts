import type { Client } from '@elastic/elasticsearch';
import { createBatcher } from '../batch.ts';
import { within } from '../deadline.ts';
import { MAX_GRAM } from './document.ts';
import type { ParsedQuery } from './query.ts';
import { type DirectorySearch, MAX_RESULTS, SEARCH_TIMEOUT_MS, type SearchEntry } from './search.ts';

/** How often a search is asked again while the alias moves under it. */
const MAX_ROUNDS = 4;
/** Callers that share one `_msearch`, and requests under way at once. */
const BATCHES = { maxBatch: 16, maxRuns: 4, maxWaiting: 2_000, maxWaitMs: SEARCH_TIMEOUT_MS };
/** `status` keeps one element a search, also where nothing was found. */
const FILTER_PATH = [
  'responses.status',
  'responses.timed_out',
  'responses.error.type',
  'responses.hits.hits._index',
  'responses.hits.hits.fields',
].join(',');

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

interface Hit {
  _index: string;
  /** Doc values are lists, of one each here. */
  fields: { nif: [string]; legal_name: [string] };
}

interface ItemResponse {
  status: number;
  timed_out?: boolean;
  error?: { type: string };
  hits?: { hits?: Hit[] };
}

/**
 * Search in the index behind the alias. What arrives in one turn of the event loop goes into one `_msearch`.
 *
 * A name is two searches, neither scored, both ending early because the index is sorted as they are: what begins with
 * the query, and what is equal to it. An answer must be from one index, also while the alias moves: the beginnings are
 * asked of the alias, the equals of the index that the alias led to last. Where the beginnings' hits are from another
 * one, the alias has moved, and both are asked again. Where nothing begins with the query nothing is equal to it either.
 */
export function createElasticsearchSearch(client: Client, alias: string): IndexedSearch {
  let index: string | null = null;
  const ask = createBatcher(searchAll, BATCHES);

  async function searchAll(queries: Searchable[]): Promise<(Found | Error)[]> {
    const results = new Map<Searchable, Found | Error>();
    const deadlineMs = performance.now() + SEARCH_TIMEOUT_MS;
    let open = queries;
    for (let round = 0; open.length > 0 && round < MAX_ROUNDS; round += 1) {
      const askedIndex = index;
      const lines = open.flatMap((query) => searchesOf(query, alias, askedIndex));
      const responses = await sendSearches(lines, Math.max(1, deadlineMs - performance.now()));
      let position = 0;
      const again: Searchable[] = [];
      for (const query of open) {
        const first = responses[position++]!;
        const equals = query.kind === 'name' && askedIndex !== null ? responses[position++]! : null;
        const result = readResult(query, first, equals, askedIndex);
        if (result === 'moved') {
          index = first.hits?.hits?.[0]?._index ?? null;
          again.push(query);
        } else results.set(query, result);
      }
      open = again;
    }
    return queries.map((query) => results.get(query) ?? new Error('the alias kept moving'));
  }

  /**
   * Bounded here too: the client's time-out is one of an idle socket and ends with the answer's headers, and a run that
   * never ends would be one run less for good.
   */
  async function sendSearches(lines: string[], timeoutMs: number): Promise<ItemResponse[]> {
    const cancelled = new AbortController();
    const request = client.transport.request<{ responses: ItemResponse[] }>(
      {
        method: 'POST',
        path: '/_msearch',
        querystring: { filter_path: FILTER_PATH },
        bulkBody: `${lines.join('\n')}\n`,
      },
      { requestTimeout: SEARCH_TIMEOUT_MS, maxRetries: 0, signal: cancelled.signal },
    );
    try {
      const answer = await within(request, timeoutMs, 'Elasticsearch');
      return answer.responses;
    } catch (error) {
      // Elasticsearch drops a search whose connection is closed.
      cancelled.abort();
      throw error;
    }
  }

  async function find(parsed: ParsedQuery): Promise<Found> {
    if (parsed.kind === 'nothing') return NOTHING;
    const result = await within(ask(parsed), SEARCH_TIMEOUT_MS, 'Elasticsearch');
    if (result instanceof Error) throw result;
    return result;
  }

  return { find, search: async (parsed) => (await find(parsed)).entries };
}

/** The lines of an `_msearch`: one search for a NIF, two for a name (one while no index is known). */
function searchesOf(query: Searchable, alias: string, index: string | null): string[] {
  if (query.kind === 'nif') return search(alias, { term: { nif: query.nif } });
  const first = search(alias, beginningsOf(query.normalized));
  return index === null
    ? first
    : [...first, ...search(index, { term: { normalized_name: query.normalized } })];
}

/** The names that begin with the prefix. Longer ones match no n-gram, and few names: whole terms are walked then. */
export function beginningsOf(prefix: string): object {
  return [...prefix].length <= MAX_GRAM
    ? { term: { 'normalized_name.beginnings': prefix } }
    : { prefix: { normalized_name: prefix } };
}

function search(index: string, filter: object): string[] {
  return [JSON.stringify({ index, allow_partial_search_results: false }), JSON.stringify(searchBody(filter))];
}

/** The body of the `_search` that answers the first entries of a filter, in their order. */
export function searchBody(filter: object): object {
  return {
    size: MAX_RESULTS,
    track_total_hits: false,
    query: { constant_score: { filter } },
    sort: ['sort_key', 'nif'],
    // Read from doc values: half of Elasticsearch's time for a search went into unpacking stored documents (0.34 ms of
    // CPU a search with `_source`, 0.18 without, 16 in a request).
    docvalue_fields: ['nif', 'legal_name'],
    _source: false,
    stored_fields: '_none_',
  };
}

/**
 * The entries of one query, or why it failed; `moved` where its two searches may have seen different indices.
 * @param askedIndex what `equals` was asked of
 */
function readResult(
  query: Searchable,
  first: ItemResponse,
  equals: ItemResponse | null,
  askedIndex: string | null,
): Found | Error | 'moved' {
  const failed = failureOf(first);
  if (failed !== null) return failed;
  const hits = first.hits?.hits ?? [];
  const index = hits[0]?._index;
  if (index === undefined) return NOTHING;
  if (query.kind === 'nif') return { entries: hits.map(entryOf), index };
  if (equals === null || equals.status === 404 || index !== askedIndex) return 'moved';
  const equalsFailed = failureOf(equals);
  if (equalsFailed !== null) return equalsFailed;
  const exact = (equals.hits?.hits ?? []).map(entryOf);
  const isExact = new Set(exact.map(({ nif }) => nif));
  const rest = hits.map(entryOf).filter(({ nif }) => !isExact.has(nif));
  return { entries: [...exact, ...rest].slice(0, MAX_RESULTS), index };
}

function failureOf({ status, timed_out, error }: ItemResponse): Error | null {
  if (status === 200 && timed_out !== true) return null;
  return new Error(`Elasticsearch answered ${error?.type ?? (timed_out === true ? 'too late' : status)}`);
}

function entryOf({ fields }: Hit): SearchEntry {
  return { nif: fields.nif[0], legalName: fields.legal_name[0] };
}
