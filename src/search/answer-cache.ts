/** Answers of searches by their index and normalized query, without anything about the caller. */
export interface AnswerCache {
  get(index: string, normalized: string): string | null;
  /**
   * The answer of the longest cached prefix of the query, if it holds all names with that prefix; otherwise `null`. The names
   * that begin with the query are among them.
   */
  getComplete(index: string, normalized: string): string | null;
  /** @param isComplete whether the answer has all matches */
  set(index: string, normalized: string, json: string, isComplete: boolean): void;
  readonly hits: number;
  readonly misses: number;
  /** Estimated memory, bytes. */
  readonly bytes: number;
}

/** About the size of an entry without its strings: the map's slot, its object and two string headers. */
const ENTRY_OVERHEAD_BYTES = 200;
/** The longest prefix that is looked for, in characters, so that a query of thousands is as cheap as another. */
const LONGEST_BEGINNING = 40;

/**
 * Keeps the most recently used answers, up to `maxBytes`. A string counts as two bytes a character, its largest size. The cache
 * has answers of one index only, because only a rollback would need those of another.
 */
export function createAnswerCache(maxBytes: number): AnswerCache {
  const answers = new Map<string, { json: string; isComplete: boolean }>();
  let currentIndex: string | null = null;
  let bytes = 0;
  let hits = 0;
  let misses = 0;

  const sizeOf = (key: string, json: string) => 2 * (key.length + json.length) + ENTRY_OVERHEAD_BYTES;

  function remove(key: string): void {
    const answer = answers.get(key);
    if (answer === undefined) return;
    answers.delete(key);
    bytes -= sizeOf(key, answer.json);
  }

  return {
    get(index, normalized) {
      const answer = index === currentIndex ? answers.get(normalized) : undefined;
      if (answer === undefined) {
        misses += 1;
        return null;
      }
      hits += 1;
      // Moves it to the end, because the first in the map is the least recently used.
      answers.delete(normalized);
      answers.set(normalized, answer);
      return answer.json;
    },
    getComplete(index, normalized) {
      if (index !== currentIndex) return null;
      for (let length = Math.min(normalized.length - 1, LONGEST_BEGINNING); length > 0; length -= 1) {
        const answer = answers.get(normalized.slice(0, length));
        if (answer === undefined) continue;
        // A shorter prefix has even more matches.
        if (!answer.isComplete) return null;
        hits += 1;
        misses -= 1;
        return answer.json;
      }
      return null;
    },
    set(index, normalized, json, isComplete) {
      if (index !== currentIndex) {
        answers.clear();
        bytes = 0;
        currentIndex = index;
      }
      remove(normalized);
      const size = sizeOf(normalized, json);
      if (size > maxBytes) return;
      answers.set(normalized, { json, isComplete });
      bytes += size;
      for (const oldest of answers.keys()) {
        if (bytes <= maxBytes) break;
        remove(oldest);
      }
    },
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
    get bytes() {
      return bytes;
    },
  };
}
