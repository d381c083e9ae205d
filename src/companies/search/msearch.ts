import { type Client, errors, type estypes } from '@elastic/elasticsearch';
import { isNodeFault } from '../../platform/elasticsearch/nodes.ts';
import { MAX_GRAM, readEntry, type SortedEntry } from './document.ts';
import type { WordGroup } from './generation-reader.ts';
import { MAX_RESULTS } from './search.ts';

/** Elasticsearch writes only these members of an answer. `status` keeps one element a search, also if nothing was found. */
const FILTER_PATH = ['status', 'timed_out', 'error.type', 'hits.hits.sort'].map(
  (path) => `responses.${path}`,
);

/** The two lines of an `_msearch` that ask for one search. */
export type SearchLines = [header: estypes.MsearchRequestItem, body: estypes.MsearchRequestItem];

/** The names that begin with the prefix. A longer prefix has no n-gram and few matches, so whole terms are scanned. */
export function prefixFilter(prefix: string): object {
  return [...prefix].length <= MAX_GRAM
    ? { term: { 'normalized_name.beginnings': prefix } }
    : { prefix: { normalized_name: prefix } };
}

/** The words of a name; the mapping also indexes their beginnings. */
const WORDS = 'normalized_name.words';

/** The names that have a key of every group, and a word with this beginning. @param beginning `null` if there is none */
export function wordsFilter(groups: readonly WordGroup[], beginning: string | null): object {
  const hasWord = (word: string) => ({ term: { [WORDS]: word } });
  const hasKey = (words: readonly string[]) =>
    words.length === 1 ? hasWord(words[0]!) : { bool: { filter: words.map(hasWord) } };
  const filter: object[] = groups.map((keys) =>
    keys.length === 1 ? hasKey(keys[0]!) : { bool: { should: keys.map(hasKey) } },
  );
  if (beginning !== null) filter.push({ prefix: { [WORDS]: beginning } });
  return { bool: { filter } };
}

/** Asks an index for the first entries of a filter, in their order. */
export function searchLines(
  index: string,
  filter: estypes.QueryDslQueryContainer,
  size = MAX_RESULTS,
): SearchLines {
  // A node answers from its own copy, because the node of another one may be dead.
  const header = { index, preference: '_local', allow_partial_search_results: false };
  const body = {
    size,
    track_total_hits: false,
    query: { constant_score: { filter } },
    // The answer is read from the sort values, because reading any other value of a hit costs more than finding it.
    sort: ['entry'],
    _source: false,
    stored_fields: '_none_',
  };
  return [header, body];
}

/**
 * Sends searches together. A request whose node fails goes to the next node, as often as there are nodes, within the time. Of
 * several nodes the first has half of the time, because it may be silent.
 * @returns their outcomes, in their order
 * @throws when the request fails, or when the answer is not one of Elasticsearch's (a gateway's page, for example)
 */
export async function sendSearches(
  client: Client,
  searches: SearchLines[],
  timeoutMs: number,
): Promise<SearchOutcome[]> {
  const untilMs = performance.now() + timeoutMs;
  const request = { searches: searches.flat(), filter_path: FILTER_PATH };
  const nodes = client.connectionPool.size;
  let attemptMs = nodes > 1 ? timeoutMs / 2 : timeoutMs;
  for (let retries = 0; ; retries += 1) {
    try {
      const answer = await client.msearch(request, { requestTimeout: attemptMs, maxRetries: 0 });
      return readOutcomes(answer, searches.length);
    } catch (error) {
      attemptMs = untilMs - performance.now();
      // A slow node is asked again after a dead one.
      if (attemptMs <= 0 || retries === nodes || !isNodeFault(error)) throw plainError(error);
    }
  }
}

/** An error of the client may have the query in its text, which must not come into the log. */
function plainError(error: unknown): unknown {
  if (!(error instanceof errors.ResponseError)) return error;
  return new SearchError(error.statusCode ?? 0, error.body?.error?.type ?? error.statusCode ?? 0);
}

/** One search of several has failed. */
export class SearchError extends Error {
  override readonly name = 'SearchError';

  constructor(
    readonly status: number,
    reason: string | number,
  ) {
    super(`Elasticsearch answered ${reason}`);
  }
}

/** The entries of one search, or its failure. */
export type SearchOutcome = SortedEntry[] | SearchError;

const NINE_DIGITS = /^\d{9}$/;

/** One search of an `_msearch` answer. */
interface Item {
  status?: number;
  timed_out?: boolean;
  error?: { type?: string };
  hits?: { hits?: { sort: [string] }[] };
}

/**
 * @param count the number of searches that were asked
 * @throws when the answer is not one of Elasticsearch's (a gateway's page, for example)
 */
function readOutcomes(answer: unknown, count: number): SearchOutcome[] {
  try {
    const { responses } = answer as { responses: Item[] };
    if (responses.length === count) return responses.map(outcomeOf);
  } catch {}
  throw new Error('Elasticsearch did not answer every search of the request with directory entries');
}

function outcomeOf({ status, timed_out, error, hits }: Item): SearchOutcome {
  if (status !== 200 || timed_out === true) {
    return new SearchError(status ?? 0, error?.type ?? (timed_out === true ? 'too late' : (status ?? 0)));
  }
  return (hits?.hits ?? []).map(({ sort: [entry] }) => {
    const company = readEntry(entry);
    if (!NINE_DIGITS.test(company.nif)) throw new Error('no directory entry');
    return company;
  });
}
