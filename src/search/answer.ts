import { normalizeName } from '../companies/name.ts';
import type { AnswerCache } from './answer-cache.ts';
import type { Found, IndexedSearch } from './elasticsearch.ts';
import type { ParsedQuery } from './query.ts';
import type { SearchAnswer } from './schema.ts';
import { type DirectorySearch, MAX_RESULTS, type SearchEntry } from './search.ts';

/**
 * Answers a search with the JSON of its body.
 * @param currentIndex the search index that is current now; null: not known
 * @throws when the directory can't be searched
 */
export type AnswerSearch = (query: ParsedQuery, currentIndex: string | null) => Promise<string>;

/** Asks the directory each time. */
export function answerDirectly(directory: DirectorySearch): AnswerSearch {
  return async (query) => present(await directory.search(query));
}

/**
 * A cached answer is given only while Elasticsearch is known to answer: within this long of its last answer. Under load
 * something else has always just been asked; a quiet service can ask anew; and an outage is not hidden for some queries.
 */
const SIGN_OF_LIFE_MS = 250;

/**
 * Answers from the cache what the current index has answered before. An answer is kept under the index that its entries
 * came from, and read only while the credit's own statement says that this index is current: after an import or a
 * rollback on any instance no stale answer is left, without anything to be told to anyone. An index doesn't change once
 * searches go to it.
 */
export function answerCached(
  directory: IndexedSearch,
  cache: AnswerCache,
  nowMs = () => performance.now(),
): AnswerSearch {
  let answeredAtMs = Number.NEGATIVE_INFINITY;

  async function find(query: ParsedQuery): Promise<Found> {
    const found = await directory.find(query);
    answeredAtMs = nowMs();
    return found;
  }

  return async (query, currentIndex) => {
    if (query.kind !== 'name' || currentIndex === null) return present((await find(query)).entries);
    const isAlive = nowMs() - answeredAtMs < SIGN_OF_LIFE_MS;
    const kept = isAlive ? cache.get(currentIndex, query.normalized) : null;
    if (kept !== null) return kept;
    const whole = isAlive ? cache.getWhole(currentIndex, query.normalized) : null;
    if (whole !== null) {
      const json = narrow(whole, query.normalized);
      cache.set(currentIndex, query.normalized, json, true);
      return json;
    }
    const found = await find(query);
    const json = present(found.entries);
    // An empty answer doesn't say which index it is from.
    if (found.index !== null) {
      cache.set(found.index, query.normalized, json, found.entries.length < MAX_RESULTS);
    }
    return json;
  };
}

/**
 * The answer to a longer query, out of one that holds everything that begins with its beginning: what somebody types
 * letter by letter is asked of Elasticsearch only until fewer than 20 entries are left.
 */
function narrow(json: string, normalized: string): string {
  const { data } = JSON.parse(json) as SearchAnswer;
  const exact: SearchAnswer['data'] = [];
  const rest: SearchAnswer['data'] = [];
  // Nothing here is equal to the shorter query and begins with the longer one: what remains is in its order.
  for (const entry of data) {
    const name = normalizeName(entry.legal_name);
    if (name === normalized) exact.push(entry);
    else if (name.startsWith(normalized)) rest.push(entry);
  }
  const answer: SearchAnswer = { data: [...exact, ...rest], error: null };
  return JSON.stringify(answer);
}

function present(entries: SearchEntry[]): string {
  const answer: SearchAnswer = {
    data: entries.map(({ nif, legalName }) => ({
      nif,
      legal_name: legalName,
      status: '',
      locality: '',
      primary_cae: '',
    })),
    error: null,
  };
  return JSON.stringify(answer);
}
