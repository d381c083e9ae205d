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
 * Answers from the cache if the current index has answered the query before. An index never changes, so an answer is cached under
 * its index. Without a recent read of the current index the directory is asked: an idle service can afford the query.
 *
 * @param currentIndex the current search index; `null` means that it is not known now
 */
export function answerCached<Query>(
  directory: Finder<Query>,
  keyOf: KeyOf<Query>,
  cache: AnswerCache,
  currentIndex: () => string | null,
): AnswerQuery<Query> {
  return async (query) => {
    const key = keyOf(query);
    const current = key === null ? null : currentIndex();
    const kept = current === null ? null : cache.get(current, key!);
    if (kept !== null) return kept;
    const { entries, index } = await directory.find(query);
    const json = writeAnswer(entries);
    if (key !== null && index !== null) cache.set(index, key, json);
    return json;
  };
}
