import { LF } from '../cursor.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * Finds the end of a JSON value over any number of pieces, without keeping them. It only counts brackets outside of strings;
 * `JSON.parse` checks the value.
 */
export class JsonValueEnd {
  lineBreaks = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** @returns the position behind the value, or -1 if it continues behind `end`, where the next call begins */
  find(bytes: Buffer, from: number, end: number): number {
    for (let i = from; i < end; i++) {
      const byte = bytes[i]!;
      if (byte === LF) this.lineBreaks++;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) {
          this.#inString = false;
          if (this.#depth === 0) return i + 1;
        }
      } else if (byte === QUOTE) {
        this.#inString = true;
      } else if (isOpening(byte)) {
        this.#depth++;
      } else if (isClosing(byte)) {
        if (this.#depth === 0) return i;
        if (--this.#depth === 0) return i + 1;
      } else if (this.#depth === 0 && (byte === COMMA || isJsonSpace(byte))) {
        // The end of a number, true, false or null. The caller counts the line break.
        if (byte === LF) this.lineBreaks--;
        return i;
      }
    }
    return -1;
  }
}

/** `[` and `{` differ in one bit. */
function isOpening(byte: number): boolean {
  return (byte & 0xdf) === 0x5b;
}

function isClosing(byte: number): boolean {
  return (byte & 0xdf) === 0x5d;
}

export function isJsonSpace(byte: number): boolean {
  return byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09;
}
