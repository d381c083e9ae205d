/** The id of a row in the API, and so a reader's place in the activity: `act_` and the row's number. */

/** The clock has sixteen digits. Beyond 2^53 a number is not exact, and far in the future. */
const CURSOR = /^act_(0|[1-9][0-9]{0,15})$/;
export const CURSOR_PATTERN = CURSOR.source;

export function writeCursor(number: number): string {
  return `act_${number}`;
}

/** @returns the number of a cursor; `null` if the text is none */
export function readCursor(text: string): number | null {
  const [, number] = CURSOR.exec(text) ?? [];
  return number === undefined ? null : Number(number);
}
