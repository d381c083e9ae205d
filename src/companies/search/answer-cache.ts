import { LRUCache } from 'lru-cache';

export type AnswerCache = ReturnType<typeof createAnswerCache>;

/** About the size of an entry without its text: the map's slot, its object, and the headers of both texts. */
const ENTRY_OVERHEAD_BYTES = 200;

/**
 * Answers of searches by their generation and normalized query, without anything about the caller: the most recently used, up to
 * `maxBytes`. The cache has answers of one generation only, because only a rollback would need those of another.
 *
 * A text counts with two bytes a character, its largest size.
 */
export function createAnswerCache(maxBytes: number) {
  const answers = new LRUCache<string, string>({
    maxSize: maxBytes,
    sizeCalculation: (json, key) => 2 * (key.length + json.length) + ENTRY_OVERHEAD_BYTES,
  });
  let cachedGeneration: number | null = null;
  let hits = 0;
  let misses = 0;

  return {
    get(generation: number, normalized: string): string | null {
      const answer = generation === cachedGeneration ? answers.get(normalized) : undefined;
      if (answer === undefined) misses += 1;
      else hits += 1;
      return answer ?? null;
    },
    set(generation: number, normalized: string, json: string): void {
      if (generation !== cachedGeneration) answers.clear();
      cachedGeneration = generation;
      answers.set(normalized, json);
    },
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
