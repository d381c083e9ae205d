/**
 * Reads the rows of directory and debts files in constant memory: CSV, TSV or JSON Lines, gzip or not, of any length
 * (contract, Files).
 */
import { KIB } from '../../platform/units.ts';
import { type ColumnNames, namedColumns } from './columns.ts';
import { type Cursor, type Found, nextLineBreak, passLine } from './cursor.ts';
import { passByteOrderMark } from './encoding.ts';
import { type FileParser, formatOfFile, parserFor } from './format.ts';
import { refuseOtherKinds } from './other-kinds.ts';
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
 * @param columns lower-case names; a row's values come in their order. Headers match trimmed and without regard to case, further columns are ignored
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
