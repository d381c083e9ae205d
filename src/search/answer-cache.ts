import { LRUCache } from 'lru-cache';
import { MIB } from '../units.ts';

export type AnswerCache = ReturnType<typeof createAnswerCache>;

/** About the size of an entry without its text: the map's slot, its object, and the headers of key and buffer. */
const ENTRY_OVERHEAD_BYTES = 200;
/** The longest prefix that is looked for, in characters, so that a query of thousands is as cheap as another. */
const LONGEST_BEGINNING = 40;

/** Buffers have a multiple of this size, so that the buffer of a dropped answer fits a new one. */
const BUFFER_STEP_BYTES = 256;
/** Dropped buffers that wait for a new answer. */
const MAX_SPARE_BYTES = 1 * MIB;

interface CachedAnswer {
  /** The JSON in UTF-8, and unused bytes after it. */
  buffer: Buffer;
  length: number;
  isComplete: boolean;
}

/**
 * Answers of searches by their index and normalized query, without anything about the caller: the most recently used, up to
 * `maxBytes`. The cache has answers of one index only, because only a rollback would need those of another.
 *
 * An answer counts as text: two bytes a character, its largest size. It is stored as UTF-8 in a reused buffer, because long-lived
 * strings are collected only when the heap has doubled: they took 27% more memory.
 */
export function createAnswerCache(maxBytes: number) {
  const spare = createSpareBuffers();
  const answers = new LRUCache<string, CachedAnswer>({
    maxSize: maxBytes,
    sizeCalculation: ({ length }, key) => 2 * (key.length + length) + ENTRY_OVERHEAD_BYTES,
    dispose: ({ buffer }) => spare.keep(buffer),
  });
  let currentIndex: string | null = null;
  let hits = 0;
  let misses = 0;

  return {
    get(index: string, normalized: string): string | null {
      const answer = index === currentIndex ? answers.get(normalized) : undefined;
      if (answer === undefined) misses += 1;
      else hits += 1;
      return answer === undefined ? null : textOf(answer);
    },
    /**
     * The answer of the longest cached prefix of the query, if it holds all names with that prefix; otherwise `null`. The names
     * that begin with the query are among them.
     */
    getComplete(index: string, normalized: string): string | null {
      if (index !== currentIndex) return null;
      for (let length = Math.min(normalized.length - 1, LONGEST_BEGINNING); length > 0; length -= 1) {
        const answer = answers.peek(normalized.slice(0, length));
        if (answer === undefined) continue;
        // A shorter prefix has even more matches.
        if (!answer.isComplete) return null;
        hits += 1;
        misses -= 1;
        return textOf(answer);
      }
      return null;
    },
    /** @param isComplete whether the answer has all matches */
    set(index: string, normalized: string, json: string, isComplete: boolean): void {
      if (index !== currentIndex) answers.clear();
      currentIndex = index;
      const length = Buffer.byteLength(json);
      const buffer = spare.take(length);
      buffer.write(json);
      answers.set(normalized, { buffer, length, isComplete });
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

const textOf = ({ buffer, length }: CachedAnswer) => buffer.toString('utf8', 0, length);

/** Buffers that are used again, by their size. */
function createSpareBuffers() {
  const bySize = new Map<number, Buffer[]>();
  let spareBytes = 0;
  return {
    /** A buffer of at least so many bytes, with any content. */
    take(length: number): Buffer {
      const size = Math.ceil(length / BUFFER_STEP_BYTES) * BUFFER_STEP_BYTES;
      const buffer = bySize.get(size)?.pop();
      if (buffer === undefined) return Buffer.allocUnsafeSlow(size);
      spareBytes -= size;
      return buffer;
    },
    keep(buffer: Buffer): void {
      if (spareBytes + buffer.length > MAX_SPARE_BYTES) return;
      spareBytes += buffer.length;
      const ofSize = bySize.get(buffer.length);
      if (ofSize === undefined) bySize.set(buffer.length, [buffer]);
      else ofSize.push(buffer);
    },
  };
}
