import { LRUCache } from 'lru-cache';
import type { CurrentDirectory } from './current.ts';
import type { Finder } from './search.ts';
import { writeAnswer } from './search-schema.ts';

/**
 * Answers a query with the JSON of its body.
 * @throws when the directory can't be searched
 */
export type AnswerQuery<Query> = (query: Query) => Promise<string>;

/** Answers are kept of queries for names alone, which have a normalized form. */
type KeptQuery = { kind: string; normalized?: string };

/** Answers queries of one kind. */
export type Answering = <Query extends KeptQuery>(directory: Finder<Query>) => AnswerQuery<Query>;

/** Asks the directory each time. */
export const answerDirectly: Answering = (directory) => async (query) =>
  writeAnswer((await directory.find(query)).entries);

/** About the size of an entry without its text: the map's slot, its object, and the headers of both texts. */
const ENTRY_OVERHEAD_BYTES = 200;

/**
 * Keeps answers by their generation, whose rows never change, and their normalized query, without anything about the caller: the most
 * recently used, up to `maxBytes`. A text counts with two bytes a character, its largest size. Without a recent read of the current
 * generation the directory is asked: an idle service can afford the query.
 */
export function createAnswerCache(maxBytes: number, { confirmed }: Pick<CurrentDirectory, 'confirmed'>) {
  const answers = new LRUCache<string, string>({
    maxSize: maxBytes,
    sizeCalculation: (json, key) => 2 * (key.length + json.length) + ENTRY_OVERHEAD_BYTES,
  });
  const counts = { hit: 0, miss: 0 };
  const answering: Answering = (directory) => async (query) => {
    const isKept = query.normalized !== undefined;
    const keyOf = (generation: number) => `${generation} ${query.kind} ${query.normalized}`;
    const current = isKept ? confirmed() : null;
    if (current !== null) {
      const kept = answers.get(keyOf(current));
      counts[kept === undefined ? 'miss' : 'hit'] += 1;
      if (kept !== undefined) return kept;
    }
    const { entries, generation } = await directory.find(query);
    const json = writeAnswer(entries);
    if (isKept && generation !== null) answers.set(keyOf(generation), json);
    return json;
  };
  /** `bytes` is an estimate of the memory. */
  return { answering, counts: () => counts, bytes: () => answers.calculatedSize };
}
