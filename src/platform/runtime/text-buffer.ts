/** UTF-8 needs at most three bytes for a UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * A reused buffer for large texts that are sent as UTF-8. A string that grows is a tree of its pieces, which is flattened, encoded
 * and thrown away for every message. That took a hundred megabytes of a large import.
 *
 * @param capacity bytes to begin with; it grows if that is too few
 */
export function createTextBuffer(capacity: number) {
  let buffer = Buffer.allocUnsafeSlow(capacity);
  let length = 0;
  return {
    /** Bytes so far. */
    get length() {
      return length;
    },
    append(text: string): void {
      const needed = length + text.length * MAX_BYTES_PER_UNIT;
      if (needed > buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, buffer.length * 2));
        buffer.copy(larger, 0, 0, length);
        buffer = larger;
      }
      length += buffer.write(text, length);
    },
    /** The appended text as a view: valid until the next `append` or `clear`. */
    bytes: () => buffer.subarray(0, length),
    clear(): void {
      length = 0;
    },
  };
}
