/** Text that is put together in large amounts and sent as UTF-8. */
export interface TextBuffer {
  /** Bytes so far. */
  readonly length: number;
  append(text: string): void;
  /** The appended text as a view: valid until the next `append` or `clear`. */
  bytes(): Buffer;
  clear(): void;
}

/** UTF-8 needs at most three bytes for a UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * One buffer that is used again and again. Adding to a string instead makes a tree of its pieces, which is flattened,
 * encoded and thrown away for every message: that took a hundred megabytes of a large import.
 *
 * @param capacity bytes to begin with; it grows where that is too few
 */
export function createTextBuffer(capacity: number): TextBuffer {
  let buffer = Buffer.allocUnsafeSlow(capacity);
  let length = 0;
  return {
    get length() {
      return length;
    },
    append(text) {
      const needed = length + text.length * MAX_BYTES_PER_UNIT;
      if (needed > buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, buffer.length * 2));
        buffer.copy(larger, 0, 0, length);
        buffer = larger;
      }
      length += buffer.write(text, length);
    },
    bytes: () => buffer.subarray(0, length),
    clear() {
      length = 0;
    },
  };
}
