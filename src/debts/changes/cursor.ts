/** The id of a change in the API, and so a reader's place among the changes: `chg_` and the change's number. */

/** Fifteen digits are a number exactly. */
export const CURSOR_PATTERN = '^chg_(0|[1-9][0-9]{0,14})$';

export function writeCursor(number: number): string {
  return `chg_${number}`;
}

/** The number of a cursor that has {@link CURSOR_PATTERN}. */
export function readCursor(cursor: string): number {
  return Number(cursor.slice('chg_'.length));
}
