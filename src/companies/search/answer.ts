import type { AnswerCache } from './answer-cache.ts';
import type { ParsedQuery } from './query.ts';
import { writeAnswer } from './schema.ts';
import type { Finder } from './search.ts';

/**
 * Answers a query with the JSON of its body.
 * @throws when the directory can't be searched
 */
export type AnswerQuery<Query> = (query: Query) => Promise<string>;

export type AnswerSearch = AnswerQuery<ParsedQuery>;

/** Asks the directory each time. */
export function answerDirectly<Query>(directory: Finder<Query>): AnswerQuery<Query> {
  return async (query) => writeAnswer((await directory.find(query)).entries);
}

/** A query's key in the cache; `null` means that its answer is not kept. Keys of different kinds of queries differ. */
export type KeyOf<Query> = (query: Query) => string | null;

export const keyOfSearch: KeyOf<ParsedQuery> = (query) => (query.kind === 'name' ? query.normalized : null);

/**
 * Answers from the cache if the current generation has answered the query before. Its rows never change. Without a recent read of the
 * current generation the directory is asked: an idle service can afford the query.
 *
 * @param confirmed the current generation; `null` means that it is not known now
 */
export function answerCached<Query>(
  directory: Finder<Query>,
  keyOf: KeyOf<Query>,
  cache: AnswerCache,
  confirmed: () => number | null,
): AnswerQuery<Query> {
  return async (query) => {
    const key = keyOf(query);
    const current = key === null ? null : confirmed();
    const kept = current === null ? null : cache.get(current, key!);
    if (kept !== null) return kept;
    const { entries, generation } = await directory.find(query);
    const json = writeAnswer(entries);
    if (key !== null && generation !== null) cache.set(generation, key, json);
    return json;
  };
}
