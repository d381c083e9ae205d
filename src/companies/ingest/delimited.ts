/**
 * CSV and TSV rows from lines (RFC 4180 quotes; LF or CRLF, mixed).
 *
 * No library does this: a stray quote must not consume the rest of the file. Existing libraries fail the file, or lose half of it.
 */
import {
  bytesOf,
  isBlank,
  isTooLong,
  MAX_ROW_BYTES,
  type ParseLines,
  REASONS,
  shownRow,
  withoutCr,
} from './rows.ts';

export interface DelimitedLayout {
  delimiter: string;
  /** The index of each of our columns in the file. */
  places: readonly number[];
  /** The number of the file's columns. */
  width: number;
}

/**
 * The most joins of lines, beside twice the lines so far. Behind it a quoted field must end on its line, so that a file of stray quotes
 * takes time in proportion to its length.
 */
const MAX_JOINS = 1_000_000;

/**
 * A parser of one layout. A missing column is `null`. A row with text in more columns than the header has is rejected. If the
 * quotes of a CSV row make no sense, only its first line is rejected, because the quote may be a stray one.
 */
export function delimitedParser({ delimiter, places, width }: DelimitedLayout): ParseLines {
  const split = rowSplitter(delimiter);
  return (lines, firstLine, isLast, batch) => {
    let at = 0;
    while (at < lines.length) {
      const first = lines[at]!;
      const line = firstLine + at;
      const row = split(lines, at, isLast, line);
      if (row === null) break;
      if (typeof row === 'string') {
        batch.rejected.push({ line, reason: row, raw: shownRow(withoutCr(first)) });
        at++;
        continue;
      }
      const { fields, next } = row;
      const raw = withoutCr(next === at + 1 ? first : lines.slice(at, next).join('\n'));
      // A field has an unquoted delimiter, and it is unknown which: half a name or a wrong amount would be imported.
      if (fields.length > width && !fields.slice(width).every(isBlank))
        batch.rejected.push({ line, reason: REASONS.tooManyFields, raw: shownRow(raw) });
      else if (fields.length > 1 || !isBlank(raw))
        batch.rows.push({ line, values: places.map((place) => fields[place] ?? null), raw });
      at = next;
    }
    return at;
  };
}

/** Splits the rows of one file. */
export function rowSplitter(delimiter: string) {
  let joins = 0;

  /**
   * Reads the field in quotes at `lines[first][at]`, and joins lines until its quote closes.
   * @param room the bytes that these may take
   * @returns its value, with the place behind it; `null`: more lines are needed; text: the fault of its quotes
   */
  function quotedField(
    lines: readonly string[],
    first: number,
    at: number,
    room: number,
    isLast: boolean,
    maxJoins: number,
  ) {
    let value = '';
    let last = first;
    let left = room;
    let from = at + 1;
    for (;;) {
      const text = lines[last]!;
      const quoteAt = text.indexOf('"', from);
      if (quoteAt === -1) {
        const more = lines[++last];
        if (more === undefined && !isLast) return null;
        if (more === undefined || bytesOf(more) >= left || ++joins > maxJoins) return REASONS.quoteNotClosed;
        value += `${text.slice(from)}\n`;
        left -= Buffer.byteLength(more) + 1;
        from = 0;
      } else if (text[quoteAt + 1] === '"') {
        value += text.slice(from, quoteAt + 1);
        from = quoteAt + 2;
      } else {
        value += text.slice(from, quoteAt);
        let end = quoteAt + 1;
        while (text[end] === ' ') end++;
        if (text[end] !== delimiter && end < withoutCr(text).length) return REASONS.textAfterQuote;
        return { value, last, at: end, room: left };
      }
    }
  }

  /**
   * Splits the row that begins with `lines[first]`, which is line number `line`.
   * @returns its fields, and the index of the line behind it; `null`: more lines are needed; text: why its first line is rejected
   */
  return (lines: readonly string[], first: number, isLast: boolean, line: number) => {
    const start = lines[first]!;
    if (isTooLong(start)) return REASONS.tooLong;
    if (!start.includes('"')) return { fields: withoutCr(start).split(delimiter), next: first + 1 };

    const maxJoins = MAX_JOINS + 2 * line;
    const fields: string[] = [];
    let room = MAX_ROW_BYTES - Buffer.byteLength(start);
    let last = first;
    let at = 0;
    for (;;) {
      const isQuoted = lines[last]![at] === '"';
      const quoted = isQuoted ? quotedField(lines, last, at, room, isLast, maxJoins) : undefined;
      // TSV has no quotes unless a spreadsheet wrote it, so a field that isn't quoted from end to end stays as it is.
      if (quoted === null || (typeof quoted === 'string' && delimiter !== '\t')) return quoted;
      if (typeof quoted === 'object') {
        fields.push(quoted.value);
        ({ last, at, room } = quoted);
      } else {
        const text = withoutCr(lines[last]!);
        const found = text.indexOf(delimiter, at);
        const end = found === -1 ? text.length : found;
        fields.push(text.slice(at, end));
        at = end;
      }
      if (lines[last]![at] !== delimiter) return { fields, next: last + 1 };
      at++;
    }
  };
}
