/** Accepts UTF-8 only (docs/imports.md: files), and refuses other text with its line and the remedy. */
import { isUtf8 } from 'node:buffer';
import { FileError } from '../../platform/terminal/file-error.ts';
import { type Cursor, LF, nextLineBreak } from './cursor.ts';

/**
 * Moves past a byte order mark of UTF-8.
 * @throws {FileError} the file is UTF-16, by its mark or by the zeros between its letters
 */
export function passByteOrderMark(name: string, cursor: Cursor): void {
  const { bytes, end } = cursor;
  const [first, second, third] = bytes.subarray(0, Math.min(end, 4));
  const marked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (marked || (end >= 2 && (first === 0) !== (second === 0))) {
    throw new FileError(`${name}: is UTF-16, not UTF-8: convert it with iconv -f UTF-16 -t UTF-8`);
  }
  if (first === 0xef && second === 0xbb && third === 0xbf) cursor.at = 3;
}

/**
 * Checks every whole line in memory, from the cursor on. (A row over 64 KiB is rejected as it passes, unchecked.)
 * @throws {FileError} naming the first line that isn't UTF-8
 */
export function checkEncoding(name: string, cursor: Cursor): void {
  const { bytes, at, end, final } = cursor;
  // A line break is never part of another character, so whole lines have whole characters.
  const checkedTo = final ? end : bytes.subarray(0, end).lastIndexOf(LF) + 1;
  if (checkedTo <= at || isUtf8(bytes.subarray(at, checkedTo))) return;

  let line = cursor.line;
  let lineAt = at;
  for (;;) {
    const lineBreakAt = nextLineBreak(cursor, lineAt);
    if (lineBreakAt === -1 || !isUtf8(bytes.subarray(lineAt, lineBreakAt))) break;
    lineAt = lineBreakAt + 1;
    line++;
  }
  throw notUtf8(name, line);
}

function notUtf8(name: string, line: number): FileError {
  return new FileError(
    `${name}: line ${line} is not UTF-8: convert the file, for instance with iconv -f WINDOWS-1252 -t UTF-8`,
  );
}
