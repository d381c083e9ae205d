import type { Client } from '@elastic/elasticsearch';
import { createBatcher } from '../batch.ts';
import { normalizeName } from '../companies/name.ts';
import { within } from '../deadline.ts';
import { MAX_GRAM, readEntry } from './document.ts';
import type { ParsedQuery } from './query.ts';
import { type DirectorySearch, MAX_RESULTS, SEARCH_TIMEOUT_MS, type SearchEntry } from './search.ts';

/** How often a search is asked again while the alias moves under it. */
const MAX_ROUNDS = 4;
/** Callers that share one `_msearch`, and requests under way at once. */
const BATCHES = { maxBatch: 32, maxRuns: 2, maxWaiting: 2_000, maxWaitMs: SEARCH_TIMEOUT_MS };
/** `status` keeps one element a search, also where nothing was found. */
const FILTER_PATH = [
  'responses.status',
  'responses.timed_out',
  'responses.error.type',
  'responses.hits.hits._index',
  'responses.hits.hits.sort',
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
  /** The document's `entry`. */
  sort: [string];
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
    const deadlineMs = performance.now() + SEARCH_TIMEOUT_MS;
    let open = queries;
    let together = true;
    for (let round = 0; open.length > 0 && round < MAX_ROUNDS; round += 1) {
      const askedIndex = index;
      const groups = askedIndex === null ? [] : groupNames(open, together);
      const lines = [
        ...open.flatMap((query) => search(alias, filterOf(query))),
        ...groups.flatMap((names) => search(askedIndex!, equalsOf(names), MAX_RESULTS * names.length)),
      ];
      const responses = await sendSearches(lines, Math.max(1, deadlineMs - performance.now()));
      const equals = readEquals(groups, responses.slice(open.length));
      together = !equals.crowded;
      const again: Searchable[] = [];
      for (const [position, query] of open.entries()) {
        const first = responses[position]!;
        const result = readResult(query, first, equals, askedIndex);
        if (result === 'again') {
          index = first.hits?.hits?.[0]?._index ?? null;
          again.push(query);
        } else results.set(query, result);
      }
      open = again;
    }
    return queries.map((query) => results.get(query) ?? new Error('the alias kept moving'));
  }

  async function sendSearches(lines: string[], timeoutMs: number): Promise<ItemResponse[]> {
    const answer = await client.transport.request<{ responses: ItemResponse[] }>(
      {
        method: 'POST',
        path: '/_msearch',
        querystring: { filter_path: FILTER_PATH },
        bulkBody: `${lines.join('\n')}\n`,
      },
      { requestTimeout: timeoutMs, maxRetries: 0 },
    );
    return answer.responses;
  }

  async function find(parsed: ParsedQuery): Promise<Found> {
    if (parsed.kind === 'nothing') return NOTHING;
    const result = await within(ask(parsed), SEARCH_TIMEOUT_MS, 'Elasticsearch');
    if (result instanceof Error) throw result;
    return result;
  }

  return { find, search: async (parsed) => (await find(parsed)).entries };
}

function filterOf(query: Searchable): object {
  return query.kind === 'nif' ? { term: { nif: query.nif } } : beginningsOf(query.normalized);
}

/** The names among the queries, in groups that share one search for their equals. */
function groupNames(queries: Searchable[], together: boolean): string[][] {
  const names = [...new Set(queries.flatMap((query) => (query.kind === 'name' ? [query.normalized] : [])))];
  if (names.length === 0) return [];
  return together ? [names] : names.map((name) => [name]);
}

function equalsOf(names: string[]): object {
  return names.length === 1 ? { term: { normalized_name: names[0] } } : { terms: { normalized_name: names } };
}

/** The names that begin with the prefix. Longer ones match no n-gram, and few names: whole terms are walked then. */
export function beginningsOf(prefix: string): object {
  return [...prefix].length <= MAX_GRAM
    ? { term: { 'normalized_name.beginnings': prefix } }
    : { prefix: { normalized_name: prefix } };
}

function search(index: string, filter: object, size = MAX_RESULTS): string[] {
  return [
    JSON.stringify({ index, allow_partial_search_results: false }),
    JSON.stringify(searchBody(filter, size)),
  ];
}

/** The body of the `_search` that answers the first entries of a filter, in their order. */
export function searchBody(filter: object, size = MAX_RESULTS): object {
  return {
    size,
    track_total_hits: false,
    query: { constant_score: { filter } },
    // The answer is read from what hits are sorted by: anything else that is asked of them costs more than to find them.
    sort: ['entry'],
    _source: false,
    stored_fields: '_none_',
  };
}

/** Entries that are equal to a name, by name. */
interface Equals {
  byName: Map<string, SearchEntry[] | Error | 'moved'>;
  /** A search that several names shared was not enough for all of them: each needs its own. */
  crowded: boolean;
}

function readEquals(groups: string[][], responses: ItemResponse[]): Equals {
  const equals: Equals = { byName: new Map(), crowded: false };
  for (const [position, names] of groups.entries()) {
    const response = responses[position]!;
    const failed = response.status === 404 ? 'moved' : failureOf(response);
    const dealt = failed ?? dealOut(names, (response.hits?.hits ?? []).map(entryOf));
    if (dealt === null) equals.crowded = true;
    else
      for (const name of names)
        equals.byName.set(name, dealt instanceof Map ? (dealt.get(name) ?? []) : dealt);
  }
  return equals;
}

/** @returns null where others' entries may have left no room for some, or the index was made by other rules */
function dealOut(names: string[], entries: SearchEntry[]): Map<string, SearchEntry[]> | null {
  if (names.length === 1) return new Map([[names[0]!, entries]]);
  if (entries.length === MAX_RESULTS * names.length) return null;
  const byName = new Map<string, SearchEntry[]>(names.map((name) => [name, []]));
  for (const entry of entries) {
    const theirs = byName.get(normalizeName(entry.legalName));
    if (theirs === undefined) return null;
    theirs.push(entry);
  }
  return byName;
}

/**
 * The entries of one query, or why it failed; `again` where its two searches may have seen different indices, or its
 * equals are not known.
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
  const hits = first.hits?.hits ?? [];
  const index = hits[0]?._index;
  if (index === undefined) return NOTHING;
  if (query.kind === 'nif') return { entries: hits.map(entryOf), index };
  const exact = equals.byName.get(query.normalized) ?? 'moved';
  if (exact === 'moved' || index !== askedIndex) return 'again';
  if (exact instanceof Error) return exact;
  const rest = hits.map(entryOf);
  if (exact.length === 0) return { entries: rest, index };
  const isExact = new Set(exact.map(({ nif }) => nif));
  return { entries: [...exact, ...rest.filter(({ nif }) => !isExact.has(nif))].slice(0, MAX_RESULTS), index };
}

function failureOf({ status, timed_out, error }: ItemResponse): Error | null {
  if (status === 200 && timed_out !== true) return null;
  return new Error(`Elasticsearch answered ${error?.type ?? (timed_out === true ? 'too late' : status)}`);
}

function entryOf({ sort }: Hit): SearchEntry {
  return readEntry(sort[0]);
}
