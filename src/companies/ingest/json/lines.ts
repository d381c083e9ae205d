/** JSON Lines: an object a line, with the wanted columns as members (docs/imports.md: files). */
import { nextLineBreak, type ParseRows, passLine, rejectLine, withoutCr } from '../cursor.ts';
import { MAX_ROW_BYTES, REASONS } from '../rows.ts';
import type { ObjectReader } from './object.ts';

export function jsonLinesParser(objects: ObjectReader): ParseRows {
  return (cursor, found) => {
    const { bytes, end, final } = cursor;
    while (cursor.at < end) {
      const { at: from, line } = cursor;
      const lineBreakAt = nextLineBreak(cursor, from);
      const to = withoutCr(bytes, from, lineBreakAt === -1 ? end : lineBreakAt);
      if (to - from > MAX_ROW_BYTES || (lineBreakAt === -1 && !final)) {
        if (!rejectLine(cursor, found, REASONS.tooLong)) return;
        continue;
      }
      const text = bytes.toString('utf8', from, to);
      if (!/^[ \t]*$/.test(text)) {
        const read = objects.read(text);
        if (typeof read === 'string') {
          rejectLine(cursor, found, read);
          continue;
        }
        found.rows.push({ line, values: read, from, to });
      }
      passLine(cursor, lineBreakAt);
    }
  };
}
