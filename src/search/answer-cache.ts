import { MIB } from '../units.ts';

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
 * Keeps the most recently used answers, up to `maxBytes`. An answer counts as text: two bytes a character, its largest size. It is
 * kept as UTF-8, because a text with an accent does take two, and its buffer is used again: the garbage collector frees what
 * has lived long only when the heap has doubled. The cache has answers of one index only, because only a rollback would need
 * those of another.
 */
export function createAnswerCache(maxBytes: number): AnswerCache {
  const answers = new Map<string, CachedAnswer>();
  const spare = createSpareBuffers();
  let currentIndex: string | null = null;
  let bytes = 0;
  let hits = 0;
  let misses = 0;

  const sizeOf = (key: string, length: number) => 2 * (key.length + length) + ENTRY_OVERHEAD_BYTES;

  function remove(key: string): void {
    const answer = answers.get(key);
    if (answer === undefined) return;
    answers.delete(key);
    bytes -= sizeOf(key, answer.length);
    spare.keep(answer.buffer);
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
      return textOf(answer);
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
        return textOf(answer);
      }
      return null;
    },
    set(index, normalized, text, isComplete) {
      if (index !== currentIndex) {
        answers.clear();
        bytes = 0;
        currentIndex = index;
      }
      remove(normalized);
      const length = Buffer.byteLength(text);
      const size = sizeOf(normalized, length);
      if (size > maxBytes) return;
      const buffer = spare.take(length);
      buffer.write(text);
      answers.set(normalized, { buffer, length, isComplete });
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
