/**
 * CSV and TSV rows from bytes (RFC 4180 quotes; LF or CRLF, mixed).
 *
 * No library does this: a row over 64 KiB must be rejected without being kept, and an unclosed quote must not consume the rest
 * of the file. Existing libraries fail the file, or keep the field. This parser reads bytes, so that only the columns of the
 * import become strings.
 */
import { MIB } from '../../../platform/units.ts';
import {
  CR,
  type Cursor,
  type Found,
  LF,
  nextLineBreak,
  type ParseRows,
  rejectLine,
  withoutCr,
} from '../cursor.ts';
import { MAX_ROW_BYTES, REASONS, rawText } from '../rows.ts';

const QUOTE = 0x22;
const SPACE = 0x20;
const TAB = 0x09;

export interface DelimitedLayout {
  /** The byte between fields. */
  delimiter: number;
  /** For each column of the file, the index of its value, or -1 if it is not read. `null` means all, in order. */
  slots: Int16Array | null;
  /** The number of a row's values. */
  width: number;
}

/**
 * This many bytes, plus as many as the file had so far, may be read twice because of unclosed quotes. After that a quoted field
 * must end on its line, so that a file of stray quotes costs no more than its length.
 */
const REREAD_ALLOWANCE_BYTES = 16 * MIB;

/** Faster than `toString('utf8', …)`: 3 times for text that isn't ASCII (Bun 1.4). */
type Bytes = Buffer & { utf8Slice(from: number, to: number): string };

/** The outcome of a row: added (or rejected as a whole), cut off by the end of memory, or a reason to reject its first line. */
type Outcome = typeof ADDED | typeof CUT | string;
const ADDED = 0;
const CUT = 1;

/** The slot of a field without a column in the header. */
const BEYOND = -2;

/**
 * A parser of one layout. A missing column is `null`. A row with text in more columns than the header has is rejected. If the
 * quotes of a CSV row make no sense, only its first line is rejected, because the quote may be a stray one. TSV has no quotes
 * unless a spreadsheet wrote it, so a field that isn't quoted from end to end stays as it is.
 * @param maxRows the most rows of one call
 */
export function delimitedParser(
  { delimiter, slots, width }: DelimitedLayout,
  maxRows = Number.POSITIVE_INFINITY,
): ParseRows {
  const noValues: (string | null)[] = new Array<null>(width).fill(null);
  const columnsOfFile = slots?.length ?? 0;
  /** The position in the present row. */
  let at = 0;
  /** Bytes of it that were read twice because of a stray quote. */
  let reread = 0;
  /** The same of all rows before it, and the bytes of these. */
  let rereadBefore = 0;
  let bytesBefore = 0;

  return (cursor, found) => {
    while (cursor.at < cursor.end && found.rows.length < maxRows) {
      const rowAt = cursor.at;
      const outcome = parseRow(cursor, found);
      // The whole row is read again, and counted at its end.
      if (outcome === CUT) return;
      rereadBefore += reread;
      if (outcome !== ADDED) {
        const lineBreakAt = nextLineBreak(cursor, rowAt);
        if (lineBreakAt !== -1) rereadBefore += Math.max(0, at - lineBreakAt);
        if (!rejectLine(cursor, found, outcome)) return;
      }
      bytesBefore += cursor.at - rowAt;
    }
  };

  function parseRow(cursor: Cursor, found: Found): Outcome {
    const { at: rowAt, line, final } = cursor;
    const bytes = cursor.bytes as Bytes;
    // The longest row, and a CRLF behind it.
    const longest = rowAt + MAX_ROW_BYTES + 2;
    const limit = Math.min(cursor.end, longest);
    const values = noValues.slice();
    let column = 0;
    let lineBreaks = 0;
    let anyQuote = false;
    let anyBeyond = false;
    let i = rowAt;
    reread = 0;

    for (;;) {
      const slot = slots === null ? column : column < columnsOfFile ? slots[column]! : BEYOND;
      let isQuoted = i < limit && bytes[i] === QUOTE;
      if (isQuoted) {
        anyQuote = true;
        const lineBreaksBefore = lineBreaks;
        const from = ++i;
        let doubled = false;
        for (; i < limit; i++) {
          const byte = bytes[i]!;
          if (byte === QUOTE) {
            if (i + 1 >= limit || bytes[i + 1] !== QUOTE) break;
            doubled = true;
            i++;
          } else if (byte === LF) {
            if (rereadBefore > REREAD_ALLOWANCE_BYTES + bytesBefore) break;
            lineBreaks++;
          }
        }
        at = i;
        const closed = i < limit && bytes[i] === QUOTE;
        // A quote at the very end of memory may be the first of two.
        if (!final && limit < longest && (closed ? i + 1 : i) >= limit) return CUT;
        const to = i;
        if (closed) {
          i++;
          while (i < limit && bytes[i] === SPACE && delimiter !== SPACE) i++;
          if (i < limit && bytes[i] === CR && (i + 1 >= limit || bytes[i + 1] === LF)) i++;
        }
        if (!closed || (i < limit && bytes[i] !== delimiter && bytes[i] !== LF)) {
          if (delimiter !== TAB) return closed ? REASONS.textAfterQuote : REASONS.quoteNotClosed;
          // Most programs write TSV without quoting, so this is text that begins with a quote.
          isQuoted = false;
          reread += i - from;
          i = from - 1;
          lineBreaks = lineBreaksBefore;
        } else if (slot >= 0) {
          const text = bytes.utf8Slice(from, to);
          values[slot] = doubled ? text.replaceAll('""', '"') : text;
        } else if (slot === BEYOND) {
          anyBeyond ||= !isBlank(bytes, from, to);
        }
      }
      if (!isQuoted) {
        const from = i;
        let seen = 0;
        for (; i < limit; i++) {
          const byte = bytes[i]!;
          if (byte === delimiter || byte === LF) break;
          seen |= byte;
        }
        if (slot >= 0) {
          const to = i < limit && bytes[i] === delimiter ? i : withoutCr(bytes, from, i);
          values[slot] = seen < 0x80 ? bytes.toString('latin1', from, to) : bytes.utf8Slice(from, to);
        } else if (slot === BEYOND) {
          anyBeyond ||= !isBlank(bytes, from, withoutCr(bytes, from, i));
        }
      }

      if (i >= limit) {
        at = i;
        if (limit === longest) return REASONS.tooLong;
        if (!final) return CUT;
        break;
      }
      if (bytes[i] === LF) break;
      column++;
      i++;
    }

    const to = withoutCr(bytes, rowAt, i);
    at = i;
    if (to - rowAt > MAX_ROW_BYTES) return REASONS.tooLong;
    // A field has an unquoted delimiter, and it is unknown which: half a name or a wrong amount would be imported.
    if (anyBeyond)
      found.rejected.push({ line, reason: REASONS.tooManyFields, raw: rawText(bytes, rowAt, to) });
    else if (column > 0 || anyQuote || !isBlank(bytes, rowAt, to)) {
      found.rows.push({ line, values, from: rowAt, to });
    }
    cursor.at = Math.min(i + 1, cursor.end);
    cursor.line += lineBreaks + 1;
    return ADDED;
  }
}

function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (bytes[i] !== SPACE && bytes[i] !== TAB) return false;
  return true;
}
