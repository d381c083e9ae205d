/** Reads the lines of a file of any length in constant memory. */
import { isUtf8 } from 'node:buffer';
import { FileError } from '../../platform/terminal/file-error.ts';
import { KIB } from '../../platform/units.ts';
import type { ByteSource } from './source.ts';

/**
 * The size of the part in memory, some 2,500 rows; it must exceed the longest row. Twice as much is no faster and takes 20 MB more at
 * the peak.
 */
export const WINDOW_BYTES = 128 * KIB;

const LF = 0x0a;
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/** Faster than `toString`: 3 times for text that isn't ASCII (Bun 1.4). */
type Bytes = Buffer & { utf8Slice(from: number, to: number): string };

/**
 * Reads the first part of a file into memory.
 * @returns its bytes as Latin-1, and all lines, some thousands at a time: without LF, with a CR before it. A line that is longer than
 * memory is cut, and the cut one is longer than a row may be. The lines throw a FileError if the text is not UTF-8 (docs/imports.md:
 * files), except in a line so long.
 */
export async function openLines(
  source: ByteSource,
): Promise<{ head: string; lines: AsyncGenerator<string[]> }> {
  const bytes = Buffer.allocUnsafeSlow(WINDOW_BYTES) as Bytes;
  /** Fills up `bytes` from `at` on, and returns the end, which is the file's if there is room left. */
  const fill = async (at: number) => {
    let end = at;
    while (end < bytes.length) {
      const length = await source.read(bytes, end);
      if (length === 0) break;
      end += length;
    }
    return end;
  };

  async function* lines(firstEnd: number, firstAt: number) {
    let from = firstAt;
    let end = firstEnd;
    let line = 1;
    for (;;) {
      const isLast = end < bytes.length;
      // A line break is never part of another character, so whole lines have whole characters.
      const lineBreakAt = isLast ? end : bytes.lastIndexOf(LF);
      const isCut = lineBreakAt === -1;
      if (!isCut) checkEncoding(source.name, bytes.subarray(0, lineBreakAt), line);
      const some = bytes.utf8Slice(from, isCut ? end : lineBreakAt).split('\n');
      line += some.length;
      yield some;
      if (isLast) return;
      from = lineBreakAt + 1;
      while (isCut && from === 0 && end > 0) {
        end = await fill(0);
        from = bytes.subarray(0, end).indexOf(LF) + 1;
      }
      bytes.copyWithin(0, from, end);
      end = await fill(end - from);
      from = 0;
    }
  }
  const end = await fill(0);
  const head = bytes.toString('latin1', 0, end);
  return { head, lines: lines(end, head.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0) };
}

/** @throws {FileError} naming the first line that isn't UTF-8 */
function checkEncoding(name: string, text: Buffer, firstLine: number): void {
  if (isUtf8(text)) return;
  let line = firstLine;
  for (let at = 0; ; line++) {
    const lineBreakAt = text.indexOf(LF, at);
    if (lineBreakAt === -1 || !isUtf8(text.subarray(at, lineBreakAt))) break;
    at = lineBreakAt + 1;
  }
  throw new FileError(
    `${name}: line ${line} is not UTF-8: convert the file, for instance with iconv -f WINDOWS-1252 -t UTF-8`,
  );
}
