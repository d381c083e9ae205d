/** Answers of searches, by the index that they came from and the normalized query: nothing of who asked. */
export interface AnswerCache {
  get(index: string, normalized: string): string | null;
  /**
   * The answer of the longest beginning of the query that is kept, where it holds everything that begins so: what begins
   * with the query is among it. Else null.
   */
  getComplete(index: string, normalized: string): string | null;
  /** @param isComplete nothing that matches was left out of the answer */
  set(index: string, normalized: string, json: string, isComplete: boolean): void;
  readonly hits: number;
  readonly misses: number;
  /** Estimated memory, bytes. */
  readonly bytes: number;
}

/** What an entry takes beside its strings: the map's slot, its object and two string headers, about this. */
const ENTRY_OVERHEAD_BYTES = 200;
/** Beginnings of a query are looked for from here down, characters: a query of thousands must not cost thousands. */
const LONGEST_BEGINNING = 40;

/**
 * Keeps the answers used last, up to `maxBytes`. Strings are counted at two bytes a character, the most that they take.
 * Answers of one index only: another one's can't be asked for any more, but by a rollback.
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
      // Moves it to the end: the first in the map is the one used longest ago.
      answers.delete(normalized);
      answers.set(normalized, answer);
      return answer.json;
    },
    getComplete(index, normalized) {
      if (index !== currentIndex) return null;
      for (let length = Math.min(normalized.length - 1, LONGEST_BEGINNING); length > 0; length -= 1) {
        const answer = answers.get(normalized.slice(0, length));
        if (answer === undefined) continue;
        // Of a shorter beginning there is even more.
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
