/** Reads the header of CSV and TSV: the places of our columns, or the fault (docs/imports.md: files). */

import { FileError } from '../../platform/terminal/file-error.ts';
import { isValidNif, normalizeNif } from '../nif.ts';
import { columnAdvice, comparable, type FileColumn, shownNames } from './columns.ts';
import { type DelimitedLayout, rowSplitter } from './delimited.ts';
import { isBlank, REASONS, withoutCr } from './rows.ts';

/** The first that gives all columns is used. */
const DELIMITERS = [',', ';', '\t'];

interface Header {
  delimiter: string;
  names: string[];
  lacks: FileColumn[];
  /** The index of the line behind it. */
  next: number;
}

/**
 * Reads the layout of the rows, and the index of the line behind the header.
 *
 * @param lines the first ones; one has text
 * @throws {FileError} the header is too long, or lacks a column
 */
export function headedLayout(
  fileName: string,
  lines: readonly string[],
  columns: readonly FileColumn[],
): DelimitedLayout & { next: number } {
  const at = lines.findIndex((line) => !isBlank(withoutCr(line)));
  const headers = DELIMITERS.map((delimiter) => readHeader(lines, at, delimiter, columns));
  const found = headers.filter((header) => typeof header === 'object');
  const header = found.find(({ lacks }) => lacks.length === 0);
  if (header !== undefined) return layoutOf(fileName, header, columns);

  const best = found.toSorted((a, b) => b.names.length - a.names.length)[0];
  const problem = headers.findLast((header) => typeof header === 'string');
  // A header of a single name lacks the delimiter, so the file likely has another one: report the fault found with that.
  if (best === undefined || (problem !== undefined && best.names.length === 1))
    throw new FileError(`${fileName}: the header can't be read: ${problem}`);
  const { names, lacks } = best;
  const advice = names.some((name) => name.includes('\r'))
    ? ' (lines end in CR alone: convert them to LF)'
    : adviceFor(best);
  const sources = (some: readonly FileColumn[]) => some.map(({ source }) => source).join(', ');
  throw new FileError(
    `${fileName}: the header has no column ${sources(lacks)}; found ${shownNames(names)}; ` +
      `expected ${sources(columns)}, separated by commas, semicolons or tabs${advice}`,
  );
}

/** The header with a delimiter, or its fault. */
function readHeader(
  lines: readonly string[],
  at: number,
  delimiter: string,
  columns: readonly FileColumn[],
): Header | string {
  const row = rowSplitter(delimiter)(lines, at, true, 1)!;
  if (typeof row === 'string') return row === REASONS.tooLong ? 'it is over 64 KiB' : row;
  const names = new Set(row.fields.map(comparable));
  const lacks = columns.filter(({ source }) => !names.has(comparable(source)));
  return { delimiter, names: row.fields, lacks, next: row.next };
}

function layoutOf(fileName: string, { delimiter, names, next }: Header, columns: readonly FileColumn[]) {
  const comparables = names.map(comparable);
  const places = columns.map(({ source }) => {
    const place = comparables.indexOf(comparable(source));
    if (comparables.lastIndexOf(comparable(source)) === place) return place;
    throw new FileError(`${fileName}: the header has the column ${source} twice`);
  });
  return { delimiter, places, width: names.length, next };
}

function adviceFor({ names, lacks }: Header): string {
  if (names.some((name) => isValidNif(normalizeNif(name) ?? '')))
    return ' (its first line is a row: put the names of the columns before it)';
  // A single name belongs to another delimiter, or to no header.
  return names.length === 1 ? '' : columnAdvice(lacks, names);
}
