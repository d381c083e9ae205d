/**
 * Reads the rows of directory and debts files in constant memory: CSV with commas, semicolons or tabs, or JSON Lines, gzip or not, of
 * any length (docs/imports.md: files).
 */

import { FileError } from '../../platform/terminal/file-error.ts';
import { type ColumnNames, type FileColumn, namedColumns } from './columns.ts';
import { delimitedParser } from './delimited.ts';
import { documentError, refuseForeign } from './foreign-files.ts';
import { headedLayout } from './header.ts';
import { jsonLinesParser } from './json-lines.ts';
import { openLines } from './lines.ts';
import type { Batch, ParseLines } from './rows.ts';
import { openSource, type RowSource } from './source.ts';

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
 * @throws {FileError} one line: missing, a directory, empty, not UTF-8, columns missing, …
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
    const more = async (): Promise<string[]> => (await lines.next()).value ?? [];
    // Behind a short first line, the part in memory may end before the header does.
    const first = [...(await more()), ...(await more())];
    const path = 'path' in source ? source.path : 'FILE';
    const parser = parserFor(name, first, namedColumns(columns, sources), path, command);
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
 * Makes the parser for a file by its first lines, whatever its name is (docs/imports.md: files).
 *
 * @param path the file, for the command that makes JSON Lines of it
 * @throws {FileError} the header is missing, too long, or lacks a column; the file is a JSON document
 */
function parserFor(
  fileName: string,
  first: readonly string[],
  columns: readonly FileColumn[],
  path: string,
  command: string,
): Parser {
  const passed = SEPARATOR_LINE.test(first[0] ?? '') ? 1 : 0;
  const lines = first.slice(passed);
  const line = lines.find((one) => /[^ \t\r]/.test(one))?.trim();
  if (line === undefined) throw new FileError(`${fileName}: is empty`);
  if (/^[[{]/.test(line)) {
    // The objects of JSON Lines end on their line.
    if (line[0] === '[' || !line.endsWith('}')) throw documentError(fileName, path, command);
    return { ...jsonLinesParser(fileName, columns), next: passed };
  }
  const { next, ...layout } = headedLayout(fileName, lines, columns);
  return { parse: delimitedParser(layout), next: passed + next, finish() {} };
}
