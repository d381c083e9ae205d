/** Finds the format of a file, and the parser for it (docs/imports.md: files). */

import { FileError } from '../../platform/terminal/file-error.ts';
import type { FileColumn } from './columns.ts';
import { delimitedParser } from './csv/delimited.ts';
import { headedLayout, passSeparatorLine } from './csv/header.ts';
import { type Cursor, firstCharacter, type ParseRows } from './cursor.ts';
import { checkEncoding } from './encoding.ts';
import { jsonLinesParser } from './json/lines.ts';
import { createObjectReader } from './json/object.ts';
import type { ByteSource } from './source.ts';

type Format = 'csv' | 'tsv' | 'jsonl';

const FORMATS: Record<string, Format> = {
  csv: 'csv',
  tsv: 'tsv',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
};

const DELIMITERS: Record<'csv' | 'tsv', string[]> = { csv: [',', ';'], tsv: ['\t'] };

/**
 * The format by the name's ending; `null` for a named pipe without an ending.
 * @throws {FileError} the ending is unknown or that of a JSON document, or the file is not gzip, as it says
 */
export function formatOfFile(
  path: string,
  { isPipe, isGzip, isEmpty }: ByteSource,
  command: string,
): Format | null {
  const [, ending, gz] = /\.(csv|tsv|json|jsonl|ndjson)(\.gz)?$/i.exec(path) ?? [];
  if (gz !== undefined && !isGzip && !isEmpty) throw new FileError(`${path}: is not gzip`);
  if (ending?.toLowerCase() === 'json') throw documentError(path, path, command);
  if (ending !== undefined) return FORMATS[ending.toLowerCase()]!;
  if (isPipe) return null;
  throw new FileError(`${path}: its name must end in .csv, .tsv, .jsonl or .ndjson, or one of them and .gz`);
}

export interface FileParser {
  parse: ParseRows;
  /** Call it at the end of the file. @throws {FileError} the file is unusable as a whole */
  finish(): void;
}

/**
 * Makes the parser for a file by its first bytes and moves the cursor behind the header.
 *
 * @param named the format; `null` means by the first line (docs/imports.md: files)
 * @throws {FileError} the header is missing, too long, or lacks a column; the file is a JSON document
 */
export function parserFor(
  fileName: string,
  cursor: Cursor,
  named: Format | null,
  { columns, command }: { columns: readonly FileColumn[]; command: string },
): FileParser {
  if (named !== 'jsonl') passSeparatorLine(cursor);
  const first = firstCharacter(cursor);
  if (first === '') throw new FileError(`${fileName}: is empty`);
  const format = named ?? (first === '{' || first === '[' ? 'jsonl' : 'csv');
  if (format === 'jsonl' && (first === '[' || (named === null && !endsOnItsLine(cursor))))
    throw documentError(fileName, 'FILE', command);
  checkEncoding(fileName, cursor);
  const checked =
    (parse: ParseRows): ParseRows =>
    (cursor, found) => {
      checkEncoding(fileName, cursor);
      parse(cursor, found);
    };
  if (format === 'jsonl') {
    const objects = createObjectReader(fileName, columns);
    return { parse: checked(jsonLinesParser(objects)), finish: objects.finish };
  }
  const delimiters = named === null ? [...DELIMITERS.csv, ...DELIMITERS.tsv] : DELIMITERS[format];
  const layout = headedLayout(fileName, cursor, delimiters, columns);
  return { parse: checked(delimitedParser(layout)), finish() {} };
}

/** Whether the first object ends on its line, as those of JSON Lines do. */
function endsOnItsLine(cursor: Cursor): boolean {
  const text = cursor.bytes.toString('utf8', cursor.at, cursor.end).trimStart();
  return text.split('\n', 1)[0]!.trimEnd().endsWith('}');
}

/** @param path the file, for the command that makes JSON Lines of it */
function documentError(fileName: string, path: string, command: string): FileError {
  const file = /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
  const filter = "jq -c '.[]'";
  const lines = /\.gz$/i.test(path) ? `zcat ${file} | ${filter}` : `${filter} ${file}`;
  return new FileError(
    `${fileName}: is a JSON document: make JSON Lines of it: ${lines} | bun directory ${command} - … ` +
      "('.NAME[]' for a list that is a member)",
  );
}
