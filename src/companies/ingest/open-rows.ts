/**
 * Reads the rows of directory and debts files in constant memory: CSV, TSV or JSON Lines, gzip or not, of any length
 * (docs/imports.md: files).
 */

import { FileError } from '../../platform/terminal/file-error.ts';
import { KIB } from '../../platform/units.ts';
import type { FileDigest } from '../file-digest.ts';
import { type ColumnNames, namedColumns } from './columns.ts';
import { type Cursor, type Found, nextLineBreak, passLine } from './cursor.ts';
import { passByteOrderMark } from './encoding.ts';
import { type FileParser, formatOfFile, parserFor } from './format.ts';
import { type Batch, rawText } from './rows.ts';
import { type ByteProgress, type ByteSource, openSource, type RowSource } from './source.ts';

/** An open file whose header has been read. */
export interface RowReader {
  /** Changes while reading. */
  readonly progress: ByteProgress;
  /**
   * The rows, some thousands at a time. Iterate them once; leaving the loop closes the file. A batch may be kept while the next
   * ones are read.
   * @throws {FileError} the rest can't be read
   */
  readonly batches: AsyncIterable<Batch>;
  /** Once, behind the last batch. */
  digest(): FileDigest;
  /** Closes a file whose batches aren't iterated. */
  close(): Promise<void>;
}

/**
 * The size of the part in memory, some 5,000 rows; it must exceed the longest row. Twice as much is no faster and takes 25 MB
 * more at the peak (11 million rows: 81 MB, 99 MB packed).
 */
export const WINDOW_BYTES = 256 * KIB;

export interface ReadOptions {
  /** The file's names of our columns. */
  sources?: ColumnNames | undefined;
  /** The command that reads, for advice: `debts import`. */
  command?: string | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Opens a file, or standard input, and reads its header.
 *
 * @param columns lower-case names; a row's values come in their order. Headers match trimmed and without regard to case, further
 * columns are ignored
 * @throws {FileError} one line: missing, a directory, empty, an unknown ending, not UTF-8, columns missing, …
 */
export async function openRows(
  source: RowSource,
  columns: readonly string[],
  { sources, command = 'companies import', signal }: ReadOptions = {},
): Promise<RowReader> {
  const bytes = await openSource(source, signal);
  try {
    const cursor = await fillFirst(bytes);
    refuseOtherKinds(bytes.name, cursor);
    const namedFormat = 'path' in source ? formatOfFile(source.path, bytes, command) : null;
    passByteOrderMark(bytes.name, cursor);
    const wanted = { columns: namedColumns(columns, sources), command };
    const parser = parserFor(bytes.name, cursor, namedFormat, wanted);
    return {
      progress: bytes.progress,
      batches: batchesOf(bytes, cursor, parser),
      digest: bytes.digest,
      close: bytes.close,
    };
  } catch (error) {
    await bytes.close();
    throw error;
  }
}

async function fillFirst(source: ByteSource): Promise<Cursor> {
  const cursor: Cursor = {
    bytes: Buffer.allocUnsafeSlow(WINDOW_BYTES),
    at: 0,
    end: 0,
    final: false,
    line: 1,
    skipping: false,
  };
  await fill(cursor, source);
  return cursor;
}

async function fill(cursor: Cursor, source: ByteSource): Promise<void> {
  while (cursor.end < cursor.bytes.length) {
    const length = await source.read(cursor.bytes, cursor.end);
    if (length === 0) {
      cursor.final = true;
      return;
    }
    cursor.end += length;
  }
}

async function* batchesOf(source: ByteSource, cursor: Cursor, parser: FileParser): AsyncGenerator<Batch> {
  try {
    for (;;) {
      const found: Found = { rows: [], rejected: [] };
      if (cursor.skipping) passLine(cursor, nextLineBreak(cursor, cursor.at));
      if (!cursor.skipping) parser.parse(cursor, found);
      const isEmpty = found.rows.length === 0 && found.rejected.length === 0;
      const { bytes } = cursor;
      if (!isEmpty) yield { ...found, rawOf: ({ from, to }) => rawText(bytes, from, to) };
      if (cursor.final) return parser.finish();
      // The batch keeps its window, so that it can be read while the next one fills. That begins with the incomplete row.
      const next = isEmpty ? bytes : Buffer.allocUnsafeSlow(WINDOW_BYTES);
      bytes.copy(next, 0, cursor.at, cursor.end);
      cursor.bytes = next;
      cursor.end -= cursor.at;
      cursor.at = 0;
      await fill(cursor, source);
    }
  } finally {
    await source.close();
  }
}

const SAVE_AS_CSV =
  'save the sheet as "CSV UTF-8", or convert it with' +
  " soffice --headless --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76'";

/** A ZIP archive with an entry of this name or folder. */
const zipWith = (entry: string) => new RegExp(`^(?=PK[\x03\x05]).*PK\x03\x04.{26}${entry}`, 's');

const unpacked = (kind: string, command: string) =>
  `packed with ${kind}: unpack it, or give it to standard input (${command}); of packed files only gzip is read`;

/** The kinds by their first bytes as Latin-1; the first that fits. */
const KINDS: [RegExp, string][] = [
  [
    zipWith('mimetypeapplication/vnd.oasis.opendocument.spreadsheet'),
    `an OpenDocument spreadsheet: ${SAVE_AS_CSV}`,
  ],
  [zipWith('xl/'), `an Excel workbook: ${SAVE_AS_CSV}`],
  [
    zipWith('(word|ppt)/'),
    'a document or presentation, which has no rows: get the same data as CSV or JSON Lines',
  ],
  [zipWith('\\[Content_Types\\].xml'), `an Excel workbook: ${SAVE_AS_CSV}`],
  [
    /^PK(\x03\x04|\x05\x06)/,
    'a ZIP archive: unpack it, or give the one file in it to standard input (unzip -p)',
  ],
  [
    /^\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1/,
    `an old Office file, likely an Excel workbook (.xls): ${SAVE_AS_CSV}`,
  ],
  [/^\x1f\x8b/, 'packed with gzip twice: unpack it once (gunzip)'],
  [/^BZh[1-9]1AY&SY/, unpacked('bzip2', 'bzcat')],
  [/^\xfd7zXZ\0/, unpacked('xz', 'xzcat')],
  [/^\x28\xb5\x2f\xfd/, unpacked('zstd', 'zstdcat')],
  [/^7z\xbc\xaf/, unpacked('7z', '7z x -so')],
  [/^%PDF-/, 'a PDF, which has no rows: get the same data as CSV or JSON Lines'],
  [
    /^(\xef\xbb\xbf)?\s*<(!doctype html|html|head|body|table|meta)\b/i,
    'an HTML page: get the data file itself; a page often stands for an error or a sign-in',
  ],
  [/^(\xef\xbb\xbf)?\s*<(\?xml|!doctype)\b/i, 'XML: convert it to CSV or JSON Lines'],
];

/** @throws {FileError} a spreadsheet, an archive, a PDF, or a page */
function refuseOtherKinds(name: string, { bytes, end }: Cursor): void {
  const text = bytes.toString('latin1', 0, end);
  const kind = KINDS.find(([pattern]) => pattern.test(text));
  if (kind !== undefined) throw new FileError(`${name}: is ${kind[1]}`);
}
