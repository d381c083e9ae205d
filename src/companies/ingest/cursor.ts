/** A parser's position in the part of the file that is in memory. */
import { MAX_ROW_BYTES, REASONS, type RejectedRow, type Row, rawText } from './rows.ts';

export const LF = 0x0a;
export const CR = 0x0d;

export interface Cursor {
  /** The part in memory is `bytes[at, end)`. It begins with a row. */
  bytes: Buffer;
  at: number;
  end: number;
  /** Whether the file ends at `end`. */
  final: boolean;
  /** The line that `at` is on, from 1. */
  line: number;
  /** The bytes up to the next line break belong to a row that was rejected for its length. */
  skipping: boolean;
}

export interface Found {
  rows: Row[];
  rejected: RejectedRow[];
}

/**
 * Moves the cursor past every whole row in memory, and adds them to `found`. The rest begins an incomplete row, and is never
 * longer than a row may be.
 */
export type ParseRows = (cursor: Cursor, found: Found) => void;

/** The end of the line's text before `lineBreakAt`, without the CR of a CRLF. */
export function withoutCr(bytes: Buffer, from: number, lineBreakAt: number): number {
  return lineBreakAt > from && bytes[lineBreakAt - 1] === CR ? lineBreakAt - 1 : lineBreakAt;
}

/** The next line break in memory at or after `from`, or -1. */
export function nextLineBreak(cursor: Cursor, from: number): number {
  const at = cursor.bytes.indexOf(LF, from);
  return at < cursor.end ? at : -1;
}

/**
 * Rejects the line at the cursor and moves behind it. A line too long for memory is skipped as it arrives (`skipping`). False
 * means that more of the file is needed.
 */
export function rejectLine(cursor: Cursor, found: Found, reason: string): boolean {
  const { bytes, at: from, end, line } = cursor;
  const lineBreakAt = nextLineBreak(cursor, from);
  if (lineBreakAt === -1 && !cursor.final && end - from <= MAX_ROW_BYTES + 1) return false;
  const to = withoutCr(bytes, from, lineBreakAt === -1 ? end : lineBreakAt);
  found.rejected.push({
    line,
    reason: to - from > MAX_ROW_BYTES ? REASONS.tooLong : reason,
    raw: rawText(bytes, from, to),
  });
  passLine(cursor, lineBreakAt);
  return true;
}

/** Moves behind the line break, or to the end of memory (-1), from where the rest of the line is skipped as it arrives. */
export function passLine(cursor: Cursor, lineBreakAt: number): void {
  const isWhole = lineBreakAt !== -1;
  cursor.at = isWhole ? lineBreakAt + 1 : cursor.end;
  cursor.skipping = !isWhole;
  if (isWhole) cursor.line++;
}

/** The first character in memory that isn't white space; '' if there is none. */
export function firstCharacter({ bytes, at, end }: Cursor): string {
  for (let i = at; i < end; i++) {
    const byte = bytes[i]!;
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return String.fromCharCode(byte);
  }
  return '';
}
