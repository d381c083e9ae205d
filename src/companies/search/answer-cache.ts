import { LRUCache } from 'lru-cache';

export type AnswerCache = ReturnType<typeof createAnswerCache>;

/** About the size of an entry without its text: the map's slot, its object, and the headers of both texts. */
const ENTRY_OVERHEAD_BYTES = 200;

/**
 * Answers of searches by their index and normalized query, without anything about the caller: the most recently used, up to
 * `maxBytes`. The cache has answers of one index only, because only a rollback would need those of another.
 *
 * A text counts with two bytes a character, its largest size.
 */
export function createAnswerCache(maxBytes: number) {
  const answers = new LRUCache<string, string>({
    maxSize: maxBytes,
    sizeCalculation: (json, key) => 2 * (key.length + json.length) + ENTRY_OVERHEAD_BYTES,
  });
  let currentIndex: string | null = null;
  let hits = 0;
  let misses = 0;

  return {
    get(index: string, normalized: string): string | null {
      const answer = index === currentIndex ? answers.get(normalized) : undefined;
      if (answer === undefined) misses += 1;
      else hits += 1;
      return answer ?? null;
    },
    set(index: string, normalized: string, json: string): void {
      if (index !== currentIndex) answers.clear();
      currentIndex = index;
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
