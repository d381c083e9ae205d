/** The id of a change in the API, and so a reader's place among the changes: `chg_` and the change's number. */

/** The clock has sixteen digits. Beyond 2^53 a number is not exact, and far in the future. */
export const CURSOR_PATTERN = '^chg_(0|[1-9][0-9]{0,15})$';

export function writeCursor(number: number): string {
  return `chg_${number}`;
}

/** The number of a cursor that has {@link CURSOR_PATTERN}. */
export function readCursor(cursor: string): number {
  return Number(cursor.slice('chg_'.length));
}
