import type { AnswerCache } from './answer-cache.ts';
import type { CurrentDirectory } from './current.ts';
import type { Finder } from './search.ts';
import { writeAnswer } from './search-schema.ts';

/**
 * Answers a query with the JSON of its body.
 * @throws when the directory can't be searched
 */
export type AnswerQuery<Query> = (query: Query) => Promise<string>;

/** Answers are kept of queries for names alone, which have a normalized form. */
export type KeptQuery = { kind: string; normalized?: string };

/** Asks the directory each time. */
export function answerDirectly<Query>(directory: Finder<Query>): AnswerQuery<Query> {
  return async (query) => writeAnswer((await directory.find(query)).entries);
}

/**
 * Answers from the cache if the current generation has answered the query before. Its rows never change. Without a recent read of the
 * current generation the directory is asked: an idle service can afford the query.
 */
export function answerCached<Query extends KeptQuery>(
  directory: Finder<Query>,
  cache: AnswerCache,
  { confirmed }: Pick<CurrentDirectory, 'confirmed'>,
): AnswerQuery<Query> {
  return async (query) => {
    const isKept = query.normalized !== undefined;
    const keyOf = (generation: number) => `${generation} ${query.kind} ${query.normalized}`;
    const current = isKept ? confirmed() : null;
    const kept = current === null ? undefined : cache.get(keyOf(current));
    if (kept !== undefined) return kept;
    const { entries, generation } = await directory.find(query);
    const json = writeAnswer(entries);
    if (isKept && generation !== null) cache.set(keyOf(generation), json);
    return json;
  };
}
