import type { AnswerCache } from './answer-cache.ts';
import type { ParsedQuery } from './query.ts';
import { writeAnswer } from './schema.ts';
import type { SearchResult } from './search.ts';

/**
 * Answers a query with the JSON of its body.
 * @throws when the directory can't be searched
 */
export type AnswerQuery<Query> = (query: Query) => Promise<string>;

export type AnswerSearch = AnswerQuery<ParsedQuery>;

/** The directory, which is asked if the cache has no answer. */
export interface Finder<Query> {
  find(query: Query): Promise<SearchResult>;
}

/** Asks the directory each time. */
export function answerDirectly<Query>(directory: Finder<Query>): AnswerQuery<Query> {
  return async (query) => writeAnswer((await directory.find(query)).entries);
}

/** A query's key in the cache; `null` means that its answer is not kept. Keys of different kinds of queries differ. */
export type KeyOf<Query> = (query: Query) => string | null;

export const keyOfSearch: KeyOf<ParsedQuery> = (query) => (query.kind === 'name' ? query.normalized : null);

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
export function answerCached<Query>(
  directory: Finder<Query>,
  keyOf: KeyOf<Query>,
  cache: AnswerCache,
  currentIndex: () => string | null,
  nowMs = () => performance.now(),
): AnswerQuery<Query> {
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  let answeredFrom: string | null = null;

  async function find(query: Query): Promise<SearchResult> {
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
    const key = keyOf(query);
    if (key === null || current === null) return writeAnswer((await find(query)).entries);
    const mayUseCache = answeredFrom === current && nowMs() - answeredAtMs < SIGN_OF_LIFE_MS;
    const kept = mayUseCache ? cache.get(current, key) : null;
    if (kept !== null) return kept;
    const found = await find(query);
    const json = writeAnswer(found.entries);
    if (found.index !== null) cache.set(found.index, key, json);
    return json;
  };
}
