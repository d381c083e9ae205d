/** The rows of a reader, and its limits (docs/imports.md: files). */
import { KIB } from '../../platform/units.ts';

/** A longer row is rejected without being kept (docs/imports.md: files). Its line break doesn't count. */
export const MAX_ROW_BYTES = 64 * KIB;

/** The part of a rejected row that is kept for its reader. */
const MAX_RAW_CHARACTERS = 1_000;

/** A row that could be read. The caller checks its values. */
export interface Row {
  /** The line where it begins. The header of a CSV is line 1. */
  readonly line: number;
  /** In the order of the given columns, as written (not trimmed); `null` if the row or the file has no such column, or JSON's null. */
  readonly values: readonly (string | null)[];
  /** The whole row as it was read, for {@link shownRow}. */
  readonly raw: string;
}

/** A row that could not be read. */
export interface RejectedRow {
  readonly line: number;
  /** One of a few, so that summaries can count by it. */
  readonly reason: string;
  /** The row as it was read, by {@link shownRow}. */
  readonly raw: string;
}

/** Some thousands of rows, in the file's order. */
export interface Batch {
  readonly rows: Row[];
  readonly rejected: RejectedRow[];
}

/**
 * Adds the rows of `lines` to a batch, and returns the number of lines that they took. The others belong to an incomplete row: they
 * are given again with the lines that follow. None is left of the file's last lines.
 * @param lines without LF; a CR before it is still there
 * @param firstLine the number of the first one
 */
export type ParseLines = (
  lines: readonly string[],
  firstLine: number,
  isLast: boolean,
  batch: Batch,
) => number;

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

export function withoutCr(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

/** @param text without its line break */
export function isBlank(text: string): boolean {
  return /^[ \t]*$/.test(text);
}

/** Without the line break. */
export function bytesOf(line: string): number {
  return Buffer.byteLength(withoutCr(line));
}

export function isTooLong(line: string): boolean {
  // A unit of a string has at most three bytes of UTF-8.
  return line.length > MAX_ROW_BYTES / 3 && bytesOf(line) > MAX_ROW_BYTES;
}

/** At most {@link MAX_RAW_CHARACTERS} of a row, no character cut in half. */
export function shownRow(raw: string): string {
  const text = raw.slice(0, MAX_RAW_CHARACTERS);
  return text.isWellFormed() ? text : text.slice(0, -1);
}
