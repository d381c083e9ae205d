/** Finds the format of a file, and the parser for it (contract, Files). */

import { FileError } from '../terminal/file-error.ts';
import { comparable, type FileColumn } from './columns.ts';
import { headedParser, passSeparatorLine } from './csv/header.ts';
import { type Cursor, firstCharacter, type ParseRows } from './cursor.ts';
import { checkEncoding } from './encoding.ts';
import { jsonLinesParser } from './json/lines.ts';
import { jsonListParser } from './json/list.ts';
import { createObjectReader } from './json/object.ts';
import type { ByteSource } from './source.ts';

type Format = 'csv' | 'tsv' | 'jsonl' | 'json';

const FORMATS: Record<string, Format> = {
  csv: 'csv',
  tsv: 'tsv',
  json: 'json',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
};

const DELIMITERS: Record<'csv' | 'tsv', string[]> = { csv: [',', ';'], tsv: ['\t'] };

/**
 * The format by the name's ending; `null` for a named pipe without an ending.
 * @throws {FileError} the ending is unknown, or the file is not gzip, as it says
 */
export function formatOfFile(path: string, { isPipe, isGzip, isEmpty }: ByteSource): Format | null {
  const [, ending, gz] = /\.(csv|tsv|json|jsonl|ndjson)(\.gz)?$/i.exec(path) ?? [];
  if (gz !== undefined && !isGzip && !isEmpty) throw new FileError(`${path}: is not gzip`);
  if (ending !== undefined) return FORMATS[ending.toLowerCase()]!;
  if (isPipe) return null;
  throw new FileError(
    `${path}: its name must end in .csv, .tsv, .json, .jsonl or .ndjson, or one of them and .gz`,
  );
}

export interface FileParser {
  parse: ParseRows;
  /** Call it at the end of the file. @throws {FileError} the file is unusable as a whole */
  finish(): void;
}

/**
 * Makes the parser for a file by its first bytes and moves the cursor behind the header.
 *
 * @param named the format; `null` means by the first line (contract: on standard input)
 * @param list the member of a JSON object that holds the list; `null` if none was named
 * @throws {FileError} the header is missing, too long, or lacks a column
 */
export function parserFor(
  fileName: string,
  cursor: Cursor,
  named: Format | null,
  { columns, list }: { columns: readonly FileColumn[]; list: string | null },
): FileParser {
  if (named !== 'json' && named !== 'jsonl') passSeparatorLine(cursor);
  const first = firstCharacter(cursor);
  if (first === '') throw new FileError(`${fileName}: is empty`);
  const format = named ?? formatByContent(cursor, columns, list);
  if (list !== null && format !== 'json')
    throw new FileError(
      `${fileName}: is not a JSON document (.json), so it has no member ${list}: leave --list out`,
    );
  // A list checks each row by itself, because a window may begin in the middle of a value that is passed over.
  if (format === 'json') return jsonListParser(fileName, createObjectReader(fileName, columns), list);
  checkEncoding(fileName, cursor);
  const checked =
    (parse: ParseRows): ParseRows =>
    (cursor, found) => {
      checkEncoding(fileName, cursor);
      parse(cursor, found);
    };
  if (format === 'jsonl') {
    if (first === '[')
      throw new FileError(
        `${fileName}: is a JSON list; expected JSON Lines, an object on each line: name it .json`,
      );
    const objects = createObjectReader(fileName, columns);
    return { parse: checked(jsonLinesParser(objects)), finish: objects.finish };
  }
  const delimiters = named === null ? [...DELIMITERS.csv, ...DELIMITERS.tsv] : DELIMITERS[format];
  return { parse: checked(headedParser(fileName, cursor, delimiters, columns)), finish() {} };
}

function formatByContent(cursor: Cursor, columns: readonly FileColumn[], list: string | null): Format {
  const first = firstCharacter(cursor);
  if (first === '[') return 'json';
  if (first !== '{') return 'csv';
  return list !== null || isDocument(cursor, columns) ? 'json' : 'jsonl';
}

/** Whether a `{` begins one object with lists in it, and not the first of JSON Lines. */
function isDocument(cursor: Cursor, columns: readonly FileColumn[]): boolean {
  const line = cursor.bytes.toString('utf8', cursor.at, cursor.end).trimStart().split('\n', 1)[0]!;
  try {
    const names = Object.keys(JSON.parse(line)).map(comparable);
    // A row of JSON Lines may have lists in it, too.
    if (columns.some(({ source }) => names.includes(comparable(source.split('.', 1)[0]!)))) return false;
  } catch {
    // The object continues behind the line.
  }
  const ahead = jsonListParser('', { read: () => [], finish() {} }, null);
  try {
    ahead.parse({ ...cursor }, { rows: [], rejected: [] });
  } catch {
    // There is more than one object.
    return false;
  }
  return ahead.lists.length > 0;
}
