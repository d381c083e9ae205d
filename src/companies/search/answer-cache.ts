import { LRUCache } from 'lru-cache';

export type AnswerCache = ReturnType<typeof createAnswerCache>;

/** About the size of an entry without its text: the map's slot, its object, and the headers of both texts. */
const ENTRY_OVERHEAD_BYTES = 200;

/**
 * Answers by their generation and normalized query, without anything about the caller: the most recently used, up to `maxBytes`.
 * A text counts with two bytes a character, its largest size.
 */
export function createAnswerCache(maxBytes: number) {
  const answers = new LRUCache<string, string>({
    maxSize: maxBytes,
    sizeCalculation: (json, key) => 2 * (key.length + json.length) + ENTRY_OVERHEAD_BYTES,
  });
  let hits = 0;
  let misses = 0;

  return {
    get(key: string): string | undefined {
      const answer = answers.get(key);
      if (answer === undefined) misses += 1;
      else hits += 1;
      return answer;
    },
    set: (key: string, json: string) => void answers.set(key, json),
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
    /** Estimated memory, bytes. */
    get bytes() {
      return answers.calculatedSize;
    },
  };
}
