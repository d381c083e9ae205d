/** Answers of searches, by the index that they came from and the normalized query: nothing of who asked. */
export interface AnswerCache {
  get(index: string, normalized: string): string | null;
  set(index: string, normalized: string, json: string): void;
  readonly hits: number;
  readonly misses: number;
  /** Estimated memory, bytes. */
  readonly bytes: number;
}

/** What an entry takes beside its strings: the map's slot and two string headers, measured at about this. */
const ENTRY_OVERHEAD_BYTES = 160;

/**
 * Keeps the answers used last, up to `maxBytes`. Strings are counted at two bytes a character, the most that they take.
 * Answers of one index only: another one's can't be asked for any more, but by a rollback.
 */
export function createAnswerCache(maxBytes: number): AnswerCache {
  const answers = new Map<string, string>();
  let currentIndex: string | null = null;
  let bytes = 0;
  let hits = 0;
  let misses = 0;

  const sizeOf = (key: string, json: string) => 2 * (key.length + json.length) + ENTRY_OVERHEAD_BYTES;

  function remove(key: string): void {
    const json = answers.get(key);
    if (json === undefined) return;
    answers.delete(key);
    bytes -= sizeOf(key, json);
  }

  return {
    get(index, normalized) {
      const json = index === currentIndex ? answers.get(normalized) : undefined;
      if (json === undefined) {
        misses += 1;
        return null;
      }
      hits += 1;
      // Moves it to the end: the first in the map is the one used longest ago.
      answers.delete(normalized);
      answers.set(normalized, json);
      return json;
    },
    set(index, normalized, json) {
      if (index !== currentIndex) {
        answers.clear();
        bytes = 0;
        currentIndex = index;
      }
      remove(normalized);
      const size = sizeOf(normalized, json);
      if (size > maxBytes) return;
      answers.set(normalized, json);
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
