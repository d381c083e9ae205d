import { normalizeName } from '../companies/name.ts';
import type { AnswerCache } from './answer-cache.ts';
import { writeAnswer } from './present.ts';
import type { ParsedQuery } from './query.ts';
import type { SearchAnswer } from './schema.ts';
import { type DirectorySearch, type Found, MAX_RESULTS } from './search.ts';

/**
 * Answers a search with the JSON of its body.
 * @throws when the directory can't be searched
 */
export type AnswerSearch = (query: ParsedQuery) => Promise<string>;

/** Asks the directory each time. */
export function answerDirectly(directory: DirectorySearch): AnswerSearch {
  return async (query) => writeAnswer((await directory.find(query)).entries);
}

/**
 * A cached answer is used only this long after Elasticsearch's last answer from the current index. Under load Elasticsearch
 * has always answered within this time; an idle service can afford the query; and an outage shows for every query alike.
 */
const SIGN_OF_LIFE_MS = 250;

/**
 * Answers from the cache what the current index has answered before. An index doesn't change once searches go to it, so an
 * answer is kept under the index that its entries came from, and used only while two witnesses say that this index is the
 * current one: Postgres, which notifies every instance of a change (current-index.ts), and Elasticsearch's own last answer.
 * After an import or a rollback no instance answers from the old directory; were a notification lost, the second witness
 * would end it within {@link SIGN_OF_LIFE_MS}.
 *
 * @param currentIndex the search index that is current; `null` means that it is not known now
 */
export function answerCached(
  directory: DirectorySearch,
  cache: AnswerCache,
  currentIndex: () => string | null,
  nowMs = () => performance.now(),
): AnswerSearch {
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  let answeredFrom: string | null = null;

  async function find(query: ParsedQuery): Promise<Found> {
    const found = await directory.find(query);
    // An empty answer doesn't say which index it is from.
    if (found.index !== null) {
      answeredAtMs = nowMs();
      answeredFrom = found.index;
    }
    return found;
  }

  return async (query) => {
    const current = currentIndex();
    if (query.kind !== 'name' || current === null) return writeAnswer((await find(query)).entries);
    const mayUseCache = answeredFrom === current && nowMs() - answeredAtMs < SIGN_OF_LIFE_MS;
    const kept = mayUseCache ? cache.get(current, query.normalized) : null;
    if (kept !== null) return kept;
    const whole = mayUseCache ? cache.getComplete(current, query.normalized) : null;
    if (whole !== null) {
      const json = narrow(whole, query.normalized);
      cache.set(current, query.normalized, json, true);
      return json;
    }
    const found = await find(query);
    const json = writeAnswer(found.entries);
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
