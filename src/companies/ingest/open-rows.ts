/**
 * Reads the rows of directory and debts files in constant memory: CSV, TSV or JSON Lines, gzip or not, of any length
 * (docs/imports.md: files).
 */

import { FileError } from '../../platform/terminal/file-error.ts';
import { type ColumnNames, type FileColumn, namedColumns } from './columns.ts';
import { delimitedParser } from './delimited.ts';
import { documentError, refuseForeign } from './foreign-files.ts';
import { headedLayout } from './header.ts';
import { jsonLinesParser } from './json-lines.ts';
import { openLines } from './lines.ts';
import type { Batch, ParseLines } from './rows.ts';
import { type ByteSource, openSource, type RowSource } from './source.ts';

export interface ReadOptions {
  /** The file's names of our columns. */
  sources?: ColumnNames | undefined;
  /** The command that reads, for advice: `debts import`. */
  command?: string | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Opens a file, or standard input, and reads its header. Iterate `batches` once: leaving the loop closes the file, and the rest may
 * throw a FileError. A batch may be kept while the next ones are read. `close` a file whose batches aren't iterated.
 *
 * @param columns lower-case names; a row's values come in their order. Headers match trimmed and without regard to case, further
 * columns are ignored
 * @throws {FileError} one line: missing, a directory, empty, an unknown ending, not UTF-8, columns missing, …
 */
export async function openRows(
  source: RowSource,
  columns: readonly string[],
  { sources, command = 'companies import', signal }: ReadOptions = {},
) {
  const bytes = await openSource(source, signal);
  const { name, progress, digest, close } = bytes;
  try {
    const { head, lines } = await openLines(bytes);
    refuseForeign(name, head);
    const delimiters = 'path' in source ? delimitersOf(source.path, bytes, command) : null;
    const more = async (): Promise<string[]> => (await lines.next()).value ?? [];
    // Behind a short first line, the part in memory may end before the header does.
    const first = [...(await more()), ...(await more())];
    const parser = parserFor(name, first, delimiters, namedColumns(columns, sources), command);
    return { progress, batches: batchesOf(first, lines, parser, close), digest, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function* batchesOf(
  first: string[],
  lines: AsyncIterable<string[]>,
  { parse, next, finish }: Parser,
  close: () => Promise<void>,
): AsyncGenerator<Batch> {
  let line = 1 + next;
  let rest = first.slice(next);
  const batchOf = (isLast: boolean): Batch => {
    const batch: Batch = { rows: [], rejected: [] };
    const length = parse(rest, line, isLast, batch);
    line += length;
    rest = rest.slice(length);
    return batch;
  };
  try {
    yield batchOf(false);
    for await (const more of lines) {
      rest = rest.concat(more);
      yield batchOf(false);
    }
    yield batchOf(true);
    finish();
  } finally {
    await close();
  }
}

/** The delimiters of a format; none for JSON Lines. */
const FORMATS: Record<string, string[]> = { csv: [',', ';'], tsv: ['\t'], jsonl: [], ndjson: [] };

/**
 * The delimiters by the name's ending; `null` for a named pipe without an ending.
 * @throws {FileError} the ending is unknown or that of a JSON document, or the file is not gzip, as it says
 */
function delimitersOf(path: string, { isGzip, progress }: ByteSource, command: string): string[] | null {
  const [, ending, gz] = /\.(csv|tsv|json|jsonl|ndjson)(\.gz)?$/i.exec(path) ?? [];
  if (gz !== undefined && !isGzip && progress.bytesRead > 0) throw new FileError(`${path}: is not gzip`);
  if (ending?.toLowerCase() === 'json') throw documentError(path, path, command);
  if (ending !== undefined) return FORMATS[ending.toLowerCase()]!;
  if (progress.bytesTotal === null) return null;
  throw new FileError(`${path}: its name must end in .csv, .tsv, .jsonl or .ndjson, or one of them and .gz`);
}

interface Parser {
  parse: ParseLines;
  /** The number of lines before the first row. */
  next: number;
  /** Call it at the end of the file. @throws {FileError} the file is unusable as a whole */
  finish(): void;
}

/** Excel's first line that names the delimiter: `sep=;`. */
const SEPARATOR_LINE = /^"?sep=.{1,3}?"?[,;\t]*\r?$/i;

/**
 * Makes the parser for a file by its first lines.
 *
 * @param named the delimiters; `null` means by the first line (docs/imports.md: files)
 * @throws {FileError} the header is missing, too long, or lacks a column; the file is a JSON document
 */
function parserFor(
  fileName: string,
  first: readonly string[],
  named: string[] | null,
  columns: readonly FileColumn[],
  command: string,
): Parser {
  const passed = named?.length !== 0 && SEPARATOR_LINE.test(first[0] ?? '') ? 1 : 0;
  const lines = first.slice(passed);
  const line = lines.find((one) => /[^ \t\r]/.test(one));
  if (line === undefined) throw new FileError(`${fileName}: is empty`);
  const isList = /^[ \t\r]*\[/.test(line);
  const isJson = named === null ? isList || /^[ \t\r]*\{/.test(line) : named.length === 0;
  // The objects of JSON Lines end on their line.
  if (isJson && (isList || (named === null && !line.trimEnd().endsWith('}'))))
    throw documentError(fileName, 'FILE', command);
  if (isJson) return { ...jsonLinesParser(fileName, columns), next: passed };
  const { next, ...layout } = headedLayout(fileName, lines, named ?? [',', ';', '\t'], columns);
  return { parse: delimitedParser(layout), next: passed + next, finish() {} };
}
