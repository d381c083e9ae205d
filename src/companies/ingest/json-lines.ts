/** JSON Lines: an object a line, with the wanted columns as members (docs/imports.md: files). */

import { isObject } from '../../platform/runtime/json.ts';
import { FileError } from '../../platform/terminal/file-error.ts';
import { columnAdvice, comparable, type FileColumn, shownNames } from './columns.ts';
import { isBlank, isTooLong, type ParseLines, REASONS, shownRow, withoutCr } from './rows.ts';

export function jsonLinesParser(fileName: string, columns: readonly FileColumn[]) {
  const paths = columns.map(({ source }) => source.split('.'));
  const seen = columns.map(() => false);
  let firstObject: object | null = null;

  /**
   * The members of an object in the order of the columns, or the reason why it can't be used. Text stays as it is, whole
   * numbers from 0 to 2^53-1 become their digits, `null` and absent are `null`. Any other value (fractions, negative numbers,
   * numbers that lost digits, lists) rejects the row, because `-509442013` and `509442.013` would read as a NIF with separators.
   */
  const read = (text: string): (string | null)[] | string => {
    let object: unknown;
    try {
      object = JSON.parse(text);
    } catch {
      return REASONS.notAnObject;
    }
    if (!isObject(object)) return REASONS.notAnObject;
    firstObject ??= object;

    const values: (string | null)[] = [];
    let reason: string | null = null;
    for (let i = 0; i < columns.length; i++) {
      const { name } = columns[i]!;
      const value = memberAt(object, paths[i]!);
      if (value !== undefined) seen[i] = true;
      if (typeof value === 'string') values.push(value);
      else if (value === null || value === undefined) values.push(null);
      else if (typeof value !== 'number') reason ??= REASONS.notText(name);
      else if (Number.isSafeInteger(value) && value >= 0) values.push(String(value));
      else reason ??= REASONS.notWhole(name);
    }
    return reason ?? values;
  };
  const parse: ParseLines = (lines, firstLine, _isLast, batch) => {
    for (const [i, text] of lines.entries()) {
      const raw = withoutCr(text);
      if (isBlank(raw)) continue;
      const line = firstLine + i;
      const values = isTooLong(text) ? REASONS.tooLong : read(text);
      if (typeof values === 'string') batch.rejected.push({ line, reason: values, raw: shownRow(raw) });
      else batch.rows.push({ line, values, raw });
    }
    return lines.length;
  };
  return {
    parse,
    /**
     * Call it at the end of the file.
     * @throws {FileError} no object had one of the columns; without `end`, every bracket would be open-ended
     */
    finish(): void {
      const missing = columns.filter((_, i) => !seen[i]);
      if (firstObject === null || missing.length === 0) return;
      const found = memberNames(firstObject);
      throw new FileError(
        `${fileName}: no object has a member ${missing.map(({ source }) => source).join(', ')}; the first has ` +
          `${found.length === 0 ? 'none' : shownNames(found) + columnAdvice(missing, found)}`,
      );
    },
  };
}

/** A member by its name, without regard to case and to spaces around it, as with the headers of CSV. */
function memberNamed(object: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const wanted = comparable(name);
  for (const key of Object.keys(object)) {
    if (key.length < 100 && comparable(key) === wanted) return object[key];
  }
  return undefined;
}

/** The value that a path of names leads to. A member's name may have dots in it, so the longest name is tried first. */
function memberAt(value: unknown, path: readonly string[]): unknown {
  if (path.length === 0) return value;
  if (!isObject(value)) return undefined;
  for (let length = path.length; length > 0; length--) {
    const member = memberNamed(value, path.slice(0, length).join('.'));
    const found = memberAt(member, path.slice(length));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The names of an object's members in the form of `--columns`, with dots for inner objects. */
function memberNames(object: object, prefix = ''): string[] {
  return Object.entries(object).flatMap(([name, value]) =>
    isObject(value) && prefix.split('.').length < 4
      ? memberNames(value, `${prefix}${name}.`)
      : [`${prefix}${name}`],
  );
}
