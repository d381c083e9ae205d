/**
 * Makes text from a file, a source or an account safe for a terminal. Control characters (escape sequences, line breaks,
 * bidirectional overrides) become `·`.
 */
export function printable(text: string): string {
  return text.replace(CONTROLS, '·');
}

/** Characters that turn the direction of the text behind them, as in a class of a regular expression. */
export const DIRECTIONS = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';

const CONTROLS = new RegExp(`[\\p{Cc}\\p{Zl}\\p{Zp}${DIRECTIONS}]`, 'gu');

/** One JSON document that is safe for a terminal: it also escapes the control characters that JSON allows. */
export function printableJson(value: unknown, indent = 0): string {
  const json = JSON.stringify(value, null, indent);
  // Outside strings the only control characters are the line breaks of the indentation.
  return json.replace(CONTROLS, (control) =>
    control === '\n' ? control : `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Columns side by side, each as wide as its widest cell; the first row is the heading. */
export const textTable = (rows: string[][]): string => tableWriter()(rows);

/** The same for a table that comes in parts: a column is as wide as its widest cell so far. */
export function tableWriter(): (rows: string[][]) => string {
  const widths: number[] = [];
  return (rows) => {
    const clean = rows.map((row) => row.map(printable));
    for (const row of clean)
      for (const [column, cell] of row.entries())
        widths[column] = Math.max(widths[column] ?? 0, Bun.stringWidth(cell));
    return clean
      .map((row) =>
        row.map((cell, column) => cell + ' '.repeat(widths[column]! - Bun.stringWidth(cell))).join('  '),
      )
      .map((line) => line.trimEnd())
      .join('\n');
  };
}

/** An instant in UTC, as people read it: `2026-11-22T02:00:11Z`. */
export function toSecond(instant: Date): string {
  return instant.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Members with their values, in two columns. */
export const fields = (members: Record<string, string | number | boolean | null>): string =>
  textTable(Object.entries(members).map(([name, value]) => [name, value === null ? '–' : String(value)]));
