/** The rows of a reader, and its limits (docs/imports.md: files). */
import { KIB } from '../../platform/units.ts';

/** A longer row is rejected without being kept (docs/imports.md: files). Its line break doesn't count. */
export const MAX_ROW_BYTES = 64 * KIB;

/** The part of a rejected row that is kept for its reader. */
export const MAX_RAW_CHARACTERS = 1_000;

/** A row that could be read. The caller checks its values. */
export interface Row {
  /** The line where it begins. The header of a CSV is line 1. */
  readonly line: number;
  /** In the order of the given columns, as written (not trimmed); `null` if the row or the file has no such column, or JSON's null. */
  readonly values: readonly (string | null)[];
  /** Its position in its batch's bytes. */
  readonly from: number;
  readonly to: number;
}

/** A row that could not be read. */
export interface RejectedRow {
  readonly line: number;
  /** One of a few, so that summaries can count by it. */
  readonly reason: string;
  /** The row as it was read, at most `MAX_RAW_CHARACTERS` of it. */
  readonly raw: string;
}

/** Some thousands of rows, in the file's order. */
export interface Batch {
  readonly rows: readonly Row[];
  readonly rejected: readonly RejectedRow[];
  /** The text of a row, at most `MAX_RAW_CHARACTERS` of it. Decoded on demand, because few are needed. */
  rawOf(row: Row): string;
}

/** The reasons for rejecting a row. */
export const REASONS = {
  tooLong: 'row over 64 KiB',
  quoteNotClosed: 'quote not closed',
  textAfterQuote: 'text after a closing quote',
  tooManyFields: 'more fields than the header: text with the delimiter in it needs quotes',
  notAnObject: 'not a JSON object',
  notText: (column: string) => `${column} is neither text nor a number`,
  notWhole: (column: string) => `${column} is not a whole number`,
} as const;

/** The text of some bytes of UTF-8, at most `MAX_RAW_CHARACTERS` of it, no character cut in half. */
export function rawText(bytes: Buffer, from: number, to: number): string {
  // At most four bytes make a character; a sequence cut at the end would show as U+FFFD.
  let end = Math.min(to, from + 4 * MAX_RAW_CHARACTERS);
  if (end < to) while (end > from && (bytes[end]! & 0xc0) === 0x80) end--;
  const text = bytes.toString('utf8', from, end).slice(0, MAX_RAW_CHARACTERS);
  return text.isWellFormed() ? text : text.slice(0, -1);
}
