/** JSON Lines: an object a line, with the wanted columns as members (contract, "Files"). */
import { nextLineBreak, type Parse, rejectLine, withoutCr } from './cursor.ts';
import { MAX_ROW_BYTES, REASONS } from './rows.ts';

/**
 * A parser of JSON Lines. Text stays as it is, whole numbers from 0 to 2^53-1 become their digits, null and absent are
 * null. Anything else in a wanted member (fractions, negative numbers, numbers that lost digits, lists) rejects the
 * row: written out, `-509442013` and `509442.013` would read as a NIF with separators.
 */
export function jsonLinesParser(columns: readonly string[]): Parse {
  return (cursor, found, maxRows = Number.POSITIVE_INFINITY) => {
    const { bytes, end, final } = cursor;
    while (cursor.at < end && found.rows.length < maxRows) {
      const { at: from, line } = cursor;
      const lineBreakAt = nextLineBreak(cursor, from);
      const to = withoutCr(bytes, from, lineBreakAt === -1 ? end : lineBreakAt);
      if (to - from > MAX_ROW_BYTES || (lineBreakAt === -1 && !final)) {
        if (!rejectLine(cursor, found, REASONS.tooLong)) return;
        continue;
      }
      const text = bytes.toString('utf8', from, to);
      if (!/^[ \t]*$/.test(text)) {
        const read = readObject(text, columns);
        if (typeof read === 'string') {
          rejectLine(cursor, found, read);
          continue;
        }
        found.rows.push({ line, values: read, from, to });
      }
      cursor.at = lineBreakAt === -1 ? end : lineBreakAt + 1;
      cursor.line++;
    }
  };
}

/** The wanted members of one line, or the reason why it can't be used. */
function readObject(text: string, names: readonly string[]): (string | null)[] | string {
  let object: unknown;
  try {
    object = JSON.parse(text);
  } catch {
    return REASONS.notAnObject;
  }
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return REASONS.notAnObject;

  const values: (string | null)[] = [];
  for (const name of names) {
    const value = memberNamed(object as Record<string, unknown>, name);
    if (typeof value === 'string') values.push(value);
    else if (value === null || value === undefined) values.push(null);
    else if (typeof value !== 'number') return REASONS.notText(name);
    else if (Number.isSafeInteger(value) && value >= 0) values.push(String(value));
    else return REASONS.notWhole(name);
  }
  return values;
}

/** A member by its name, or by one that differs in case or spaces around it only, as with the headers of CSV. */
function memberNamed(object: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  for (const key of Object.keys(object)) {
    if (key.length < 100 && key.trim().toLowerCase() === name) return object[key];
  }
  return undefined;
}
