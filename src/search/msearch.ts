import type { Client } from '@elastic/elasticsearch';
import { isNodeFault } from '../elasticsearch/nodes.ts';
import { MAX_GRAM, readEntry } from './document.ts';
import { MAX_RESULTS, type SearchEntry } from './search.ts';

/** What is read of a search's answer; Elasticsearch writes nothing else. */
export const HIT_PATHS = ['hits.hits._index', 'hits.hits.sort'];
/** `status` keeps one element a search, also where nothing was found. */
const FILTER_PATH = ['status', 'timed_out', 'error.type', ...HIT_PATHS]
  .map((path) => `responses.${path}`)
  .join(',');

interface Hit {
  _index: string;
  /** The document's `entry`. */
  sort: [string];
}

/** What came of one search of several. */
export interface ItemResponse {
  status: number;
  timed_out?: boolean;
  error?: { type: string };
  hits?: { hits?: Hit[] };
}

/** The names that begin with the prefix. Longer ones match no n-gram, and few names: whole terms are walked then. */
export function beginningsOf(prefix: string): object {
  return [...prefix].length <= MAX_GRAM
    ? { term: { 'normalized_name.beginnings': prefix } }
    : { prefix: { normalized_name: prefix } };
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

/** The two lines of an `_msearch` that ask for the first entries of a filter. */
export function searchLines(index: string, filter: object, size = MAX_RESULTS): string[] {
  return [
    JSON.stringify({ index, allow_partial_search_results: false }),
    JSON.stringify(searchBody(filter, size)),
  ];
}

/**
 * Sends searches together, and once more if the node that they went to is lost, or silent for half of the time while
 * there are others.
 * @returns what came of each, in their order
 * @throws when the request fails, or when the answer is not one of Elasticsearch's (a gateway's page, for example)
 */
export async function sendSearches(
  client: Client,
  lines: string[],
  timeoutMs: number,
): Promise<ItemResponse[]> {
  const untilMs = performance.now() + timeoutMs;
  const isCluster = client.connectionPool.size > 1;
  try {
    return await sendOnce(client, lines, isCluster ? timeoutMs / 2 : timeoutMs);
  } catch (error) {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0 || !isNodeFault(error)) throw error;
    return sendOnce(client, lines, leftMs);
  }
}

async function sendOnce(client: Client, lines: string[], timeoutMs: number): Promise<ItemResponse[]> {
  const answer = await client.transport.request<{ responses?: ItemResponse[] } | string | null>(
    {
      method: 'POST',
      path: '/_msearch',
      querystring: { filter_path: FILTER_PATH },
      bulkBody: `${lines.join('\n')}\n`,
    },
    { requestTimeout: timeoutMs, maxRetries: 0 },
  );
  const responses = answer !== null && typeof answer === 'object' ? answer.responses : undefined;
  if (!Array.isArray(responses) || responses.length !== lines.length / 2) {
    throw new Error('Elasticsearch did not answer every search of the request');
  }
  return responses;
}

/** Why a search failed; null: it didn't. */
export function failureOf({ status, timed_out, error }: ItemResponse): Error | null {
  if (status === 200 && timed_out !== true) return null;
  return new Error(`Elasticsearch answered ${error?.type ?? (timed_out === true ? 'too late' : status)}`);
}

/** The entries that a search has found, and the index that they are from; null: nothing was found, and nothing says where. */
export function readHits({ hits }: ItemResponse): { entries: SearchEntry[]; index: string | null } {
  const found = hits?.hits ?? [];
  return { entries: found.map(({ sort }) => readEntry(sort[0])), index: found[0]?._index ?? null };
}
