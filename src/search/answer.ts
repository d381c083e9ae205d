import { normalizeName } from '../companies/name.ts';
import type { AnswerCache } from './answer-cache.ts';
import type { ParsedQuery } from './query.ts';
import { type SearchAnswer, writeAnswer } from './schema.ts';
import { type DirectorySearch, MAX_RESULTS, type SearchResult } from './search.ts';

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
 * has always answered within this time. An idle service can afford the query, and an outage shows for every query alike.
 */
const SIGN_OF_LIFE_MS = 250;

/**
 * Answers from the cache if the current index has answered the query before. An index never changes once searches use it. So an
 * answer is cached under its index, and used only while two sources say that this index is current: Postgres, which notifies
 * every instance of a change (current-index.ts), and the last answer of Elasticsearch. After an import or a rollback no instance
 * answers from the old directory. If a notification were lost, the second source would end its use within
 * {@link SIGN_OF_LIFE_MS}.
 *
 * @param currentIndex the current search index; `null` means that it is not known now
 */
export function answerCached(
  directory: DirectorySearch,
  cache: AnswerCache,
  currentIndex: () => string | null,
  nowMs = () => performance.now(),
): AnswerSearch {
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  let answeredFrom: string | null = null;

  async function find(query: ParsedQuery): Promise<SearchResult> {
    const found = await directory.find(query);
    // An empty answer has no index.
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
 * The answer to a longer query, taken from the complete answer of its prefix. While a user types, Elasticsearch is only asked
 * until fewer than 20 entries are left.
 */
function narrow(json: string, normalized: string): string {
  const { data } = JSON.parse(json) as SearchAnswer;
  const named = data
    .map((entry) => ({ entry, name: normalizeName(entry.legal_name) }))
    .filter(({ name }) => name.startsWith(normalized));
  // No name equals the shorter query and begins with the longer one, so the order stays right.
  const [exact, rest] = [true, false].map((isExact) =>
    named.filter(({ name }) => (name === normalized) === isExact),
  );
  const answer: SearchAnswer = { data: [...exact!, ...rest!].map(({ entry }) => entry), error: null };
  return JSON.stringify(answer);
}
