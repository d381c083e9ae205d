import type { Client } from '@elastic/elasticsearch';
import { isNodeFault, sendToNode } from '../elasticsearch/nodes.ts';
import { MAX_GRAM } from './document.ts';
import { readOutcomes, type SearchOutcome } from './hits.ts';
import { MAX_RESULTS } from './search.ts';

/** The members of a search's answer that are read; Elasticsearch writes no others. */
export const HIT_PATHS = ['hits.hits._index', 'hits.hits.sort'];
/** `status` keeps one element a search, also if nothing was found. */
const FILTER_PATH = ['status', 'timed_out', 'error.type', ...HIT_PATHS]
  .map((path) => `responses.${path}`)
  .join(',');

/** An `_msearch` without its body. */
const SEARCHES_REQUEST = {
  method: 'POST',
  path: '/_msearch',
  querystring: `filter_path=${FILTER_PATH}`,
  headers: { 'content-type': 'application/x-ndjson', accept: 'application/json' },
};

/** The names that begin with the prefix. A longer prefix has no n-gram and few matches, so whole terms are scanned. */
export function prefixFilter(prefix: string): object {
  return [...prefix].length <= MAX_GRAM
    ? { term: { 'normalized_name.beginnings': prefix } }
    : { prefix: { normalized_name: prefix } };
}

/** The body of the `_search` that answers the first entries of a filter, in their order. */
export function searchBody(filter: object | string, size: number | string = MAX_RESULTS): object {
  return {
    size,
    track_total_hits: false,
    query: { constant_score: { filter } },
    // The answer is read from the sort values, because reading any other value of a hit costs more than finding it.
    sort: ['entry'],
    _source: false,
    stored_fields: '_none_',
  };
}

/** The constant parts of a body: before the size, before the filter, and after it. */
const [BEFORE_SIZE, BEFORE_FILTER, AFTER_FILTER] = JSON.stringify(searchBody('', '')).split('""');

/** The two lines of an `_msearch` that ask for the first entries of a filter. */
export function searchLines(index: string, filter: object, size = MAX_RESULTS): string {
  // A node answers from its own copy, because the node of another one may be dead.
  const header = `{"index":${JSON.stringify(index)},"preference":"_local","allow_partial_search_results":false}`;
  return `${header}\n${BEFORE_SIZE}${size}${BEFORE_FILTER}${JSON.stringify(filter)}${AFTER_FILTER}\n`;
}

/**
 * Sends searches together. A request whose node fails goes to the next node, as often as there are nodes, within the time. Of
 * several nodes the first has half of the time, because it may be silent.
 * @param searches the lines of each
 * @returns their outcomes, in their order
 * @throws when the request fails, or when the answer is not one of Elasticsearch's (a gateway's page, for example)
 */
export async function sendSearches(
  client: Client,
  searches: string[],
  timeoutMs: number,
): Promise<SearchOutcome[]> {
  const untilMs = performance.now() + timeoutMs;
  const request = { ...SEARCHES_REQUEST, body: searches.join('') };
  const nodes = client.connectionPool.size;
  let attemptMs = nodes > 1 ? timeoutMs / 2 : timeoutMs;
  for (let retries = 0; ; retries += 1) {
    try {
      return readOutcomes(await sendToNode(client, request, attemptMs), searches.length);
    } catch (error) {
      attemptMs = untilMs - performance.now();
      // A slow node is asked again after a dead one.
      if (attemptMs <= 0 || retries === nodes || !isNodeFault(error)) throw error;
    }
  }
}
