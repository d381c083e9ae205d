/** Reads the header of CSV and TSV: the places of our columns, or the fault (docs/imports.md: files). */

import { FileError } from '../../../platform/terminal/file-error.ts';
import { isValidNif, normalizeNif } from '../../nif.ts';
import { columnAdvice, comparable, type FileColumn, shownNames } from '../columns.ts';
import { type Cursor, type Found, firstCharacter } from '../cursor.ts';
import { REASONS } from '../rows.ts';
import { type DelimitedLayout, delimitedParser } from './delimited.ts';

const DELIMITER_NAMES: Record<string, string> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' };

interface Header {
  delimiter: string;
  names: string[];
  /** The beginning of the first row. */
  at: number;
  line: number;
}

/** Excel's first line that names the delimiter: `sep=;`. */
const SEPARATOR_LINE = /^"?sep=[^\r\n]{1,3}?"?[,;\t]*\r?\n/i;

/** Moves the cursor behind a line that names the delimiter. */
export function passSeparatorLine(cursor: Cursor): void {
  const { bytes, at, end } = cursor;
  const match = SEPARATOR_LINE.exec(bytes.toString('latin1', at, Math.min(end, at + 32)));
  if (match === null) return;
  cursor.at += match[0].length;
  cursor.line++;
}

/**
 * Reads the layout of the rows, and moves the cursor behind the header.
 *
 * @param delimiters the candidates; the one that gives all columns is used
 * @throws {FileError} the header is too long, or lacks a column
 */
export function headedLayout(
  fileName: string,
  cursor: Cursor,
  delimiters: readonly string[],
  columns: readonly FileColumn[],
): DelimitedLayout {
  let best: Header | null = null;
  let problem = '';
  for (const delimiter of delimiters) {
    const header = readHeader(cursor, delimiter);
    if (typeof header === 'string') {
      problem = header;
      continue;
    }
    if (missing(header, columns).length === 0) return useHeader(fileName, cursor, header, columns);
    if (best === null || header.names.length > best.names.length) best = header;
  }
  // A header of a single name lacks the delimiter, so the file likely has the other one: report the fault found with that.
  if (best === null || (problem !== '' && best.names.length === 1)) {
    const likely = hint(cursor, columns, delimiters);
    throw new FileError(`${fileName}: the header can't be read: ${problem}${likely}`);
  }
  throw missingColumns(fileName, cursor, best, columns, delimiters);
}

/** The header with a delimiter, or its fault. */
function readHeader(cursor: Cursor, delimiter: string): Header | string {
  const ahead = { ...cursor };
  const found: Found = { rows: [], rejected: [] };
  delimitedParser({ delimiter: delimiter.charCodeAt(0), slots: null, width: 0 }, 1)(ahead, found);
  const row = found.rows[0];
  const rejected = found.rejected[0];
  if (rejected !== undefined)
    return rejected.reason === REASONS.tooLong ? 'it is over 64 KiB' : rejected.reason;
  if (row === undefined) return 'it is over 64 KiB';
  return { delimiter, names: row.values.map((value) => value ?? ''), at: ahead.at, line: ahead.line };
}

function missing(header: Header, columns: readonly FileColumn[]): FileColumn[] {
  const names = new Set(header.names.map(comparable));
  return columns.filter(({ source }) => !names.has(comparable(source)));
}

function useHeader(
  fileName: string,
  cursor: Cursor,
  header: Header,
  columns: readonly FileColumn[],
): DelimitedLayout {
  const names = header.names.map(comparable);
  const slots = new Int16Array(names.length).fill(-1);
  for (const [slot, { source }] of columns.entries()) {
    const at = names.indexOf(comparable(source));
    if (names.includes(comparable(source), at + 1)) {
      throw new FileError(`${fileName}: the header has the column ${source} twice`);
    }
    slots[at] = slot;
  }
  cursor.at = header.at;
  cursor.line = header.line;
  return { delimiter: header.delimiter.charCodeAt(0), slots, width: columns.length };
}

function missingColumns(
  fileName: string,
  cursor: Cursor,
  best: Header,
  columns: readonly FileColumn[],
  delimiters: readonly string[],
): FileError {
  const lacks = missing(best, columns);
  const isMacintosh = best.names.some((found) => found.includes('\r'));
  const likely = isMacintosh
    ? ' (lines end in CR alone: convert them to LF)'
    : hint(cursor, columns, delimiters) || advice(lacks, best);
  const separated = delimiters.map((delimiter) => DELIMITER_NAMES[delimiter]).join(' or ');
  const sources = (some: readonly FileColumn[]) => some.map(({ source }) => source).join(', ');
  return new FileError(
    `${fileName}: the header has no column ${sources(lacks)}; found ${shownNames(best.names)}; ` +
      `expected ${sources(columns)}, separated by ${separated}${likely}`,
  );
}

function advice(lacks: readonly FileColumn[], { names }: Header): string {
  if (names.some((name) => isValidNif(normalizeNif(name) ?? '')))
    return ' (its first line is a row: put the names of the columns before it)';
  // A single name belongs to another delimiter, or to no header.
  return names.length === 1 ? '' : columnAdvice(lacks, names);
}

/** The likely format, in brackets: JSON, or another delimiter that suits the header. */
function hint(cursor: Cursor, columns: readonly FileColumn[], delimiters: readonly string[]): string {
  const first = firstCharacter(cursor);
  if (first === '{') return ' (this file has JSON: name it .jsonl)';
  if (first === '[') return ' (this file has JSON: only JSON Lines are read)';
  for (const other of [',', ';', '\t', '|']) {
    if (delimiters.includes(other)) continue;
    const header = readHeader(cursor, other);
    if (typeof header === 'string' || missing(header, columns).length > 0) continue;
    if (other === '|') return ' (this file has |)';
    return ` (this file has ${DELIMITER_NAMES[other]}: name it .${other === '\t' ? 'tsv' : 'csv'})`;
  }
  return '';
}
