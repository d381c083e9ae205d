/** Which format a file has, and where its columns are (contract, "Files"). */
import type { Cursor, Found, Parse } from './cursor.ts';
import { delimitedParser } from './delimited.ts';
import { FileError } from './file-error.ts';
import { jsonLinesParser } from './json-lines.ts';
import { REASONS } from './rows.ts';

export type Format = 'csv' | 'tsv' | 'jsonl';

const FORMATS: Record<string, Format> = { csv: 'csv', tsv: 'tsv', jsonl: 'jsonl', ndjson: 'jsonl' };

/** The delimiters by format; of several, the one that the header has all columns with. */
const DELIMITERS: Record<Exclude<Format, 'jsonl'>, string[]> = { csv: [',', ';'], tsv: ['\t'] };
const DELIMITER_NAMES: Record<string, string> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' };

/** The format by a name's ending, `.gz` behind it or not; null: it has none of ours. */
export function formatByName(name: string): { format: Format; isGzip: boolean } | null {
  const match = /\.(csv|tsv|jsonl|ndjson)(\.gz)?$/i.exec(name);
  if (match === null) return null;
  return { format: FORMATS[match[1]!.toLowerCase()]!, isGzip: match[2] !== undefined };
}

/**
 * Makes the parser for a file by its first bytes and moves the cursor behind the header.
 *
 * @param format null: by the first line (contract: on standard input)
 * @throws {FileError} the header is missing, too long, or lacks a column
 */
export function parserFor(
  name: string,
  cursor: Cursor,
  format: Format | null,
  columns: readonly string[],
): { parse: Parse; format: Format } {
  const first = firstCharacter(cursor);
  if (first === '') throw new FileError(`${name}: is empty`);
  if (format === 'jsonl' || (format === null && (first === '{' || first === '['))) {
    if (first === '[') {
      throw new FileError(`${name}: is a JSON list; expected JSON Lines, an object on each line`);
    }
    return { parse: jsonLinesParser(columns), format: 'jsonl' };
  }

  const delimiters = format === null ? [...DELIMITERS.csv, ...DELIMITERS.tsv] : DELIMITERS[format];
  let best: Header | null = null;
  let problem = '';
  for (const delimiter of delimiters) {
    const header = readHeader(cursor, delimiter);
    if (typeof header === 'string') {
      problem = header;
      continue;
    }
    if (missing(header, columns).length === 0) return useHeader(name, cursor, header, columns);
    if (best === null || header.names.length > best.names.length) best = header;
  }
  // With one name, the delimiter isn't in the header: the other one, that made no sense of it, is the likelier.
  if (best === null || (problem !== '' && best.names.length === 1)) {
    const likely = hint(cursor, columns, delimiters);
    throw new FileError(`${name}: the header can't be read: ${problem}${likely}`);
  }
  throw missingColumns(name, cursor, best, columns, delimiters);
}

interface Header {
  delimiter: string;
  /** Trimmed, in lower case. */
  names: string[];
  /** Where the first row begins. */
  at: number;
  line: number;
}

/** The header as it reads with a delimiter, or what is wrong with it. */
function readHeader(cursor: Cursor, delimiter: string): Header | string {
  const ahead = { ...cursor };
  const found: Found = { rows: [], rejected: [] };
  delimitedParser({ delimiter: delimiter.charCodeAt(0), slots: null, width: 0 })(ahead, found, 1);
  const row = found.rows[0];
  const rejected = found.rejected[0];
  if (rejected !== undefined)
    return rejected.reason === REASONS.tooLong ? 'it is over 64 KiB' : rejected.reason;
  if (row === undefined) return 'it is over 64 KiB';
  return {
    delimiter,
    names: row.values.map((value) => headerName(value ?? '')),
    at: ahead.at,
    line: ahead.line,
  };
}

function headerName(text: string): string {
  return text.trim().toLowerCase();
}

function missing(header: Header, columns: readonly string[]): string[] {
  return columns.filter((column) => !header.names.includes(column));
}

function useHeader(
  name: string,
  cursor: Cursor,
  header: Header,
  columns: readonly string[],
): { parse: Parse; format: Format } {
  const slots = new Int16Array(header.names.length).fill(-1);
  for (const [slot, column] of columns.entries()) {
    const at = header.names.indexOf(column);
    if (at === -1) continue;
    if (header.names.includes(column, at + 1)) {
      throw new FileError(`${name}: the header has the column ${column} twice`);
    }
    slots[at] = slot;
  }
  cursor.at = header.at;
  cursor.line = header.line;
  const parse = delimitedParser({ delimiter: header.delimiter.charCodeAt(0), slots, width: columns.length });
  return { parse, format: header.delimiter === '\t' ? 'tsv' : 'csv' };
}

function missingColumns(
  name: string,
  cursor: Cursor,
  best: Header,
  columns: readonly string[],
  delimiters: string[],
): FileError {
  const lacks = missing(best, columns);
  const shown = best.names.slice(0, 12).map((found) => JSON.stringify(found.slice(0, 60)));
  if (best.names.length > shown.length) shown.push(`and ${best.names.length - shown.length} more`);
  const isMacintosh = best.names.some((found) => found.includes('\r'));
  const likely = isMacintosh
    ? ' (lines end in CR alone: convert them to LF)'
    : hint(cursor, columns, delimiters);
  const separated = delimiters.map((delimiter) => DELIMITER_NAMES[delimiter]).join(' or ');
  return new FileError(
    `${name}: the header has no column ${lacks.join(', ')}; found ${shown.join(', ')}; ` +
      `expected ${columns.join(', ')}, separated by ${separated}${likely}`,
  );
}

/** What the file likely is, in brackets: JSON Lines, or of another delimiter that its header makes sense with. */
function hint(cursor: Cursor, columns: readonly string[], delimiters: string[]): string {
  if (firstCharacter(cursor) === '{') return ' (this file has JSON: name it .jsonl)';
  for (const other of [',', ';', '\t', '|']) {
    if (delimiters.includes(other)) continue;
    const header = readHeader(cursor, other);
    if (typeof header === 'string' || missing(header, columns).length > 0) continue;
    if (other === '|') return ' (this file has |)';
    return ` (this file has ${DELIMITER_NAMES[other]}: name it .${other === '\t' ? 'tsv' : 'csv'})`;
  }
  return '';
}

/** The first character that isn't white space, of what is in memory; '' when there is none. */
function firstCharacter({ bytes, at, end }: Cursor): string {
  for (let i = at; i < end; i++) {
    const byte = bytes[i]!;
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return String.fromCharCode(byte);
  }
  return '';
}
