/** The id of a change in the API, and so a reader's place among the changes: `chg_` and the change's number. */

const CURSOR = /^chg_(0|[1-9]\d{0,15})$/;

export function writeCursor(number: number): string {
  return `chg_${number}`;
}

/** The number of a cursor, or `null` if the text is none. */
export function readCursor(text: string): number | null {
  const number = Number(CURSOR.exec(text)?.[1] ?? Number.NaN);
  return Number.isSafeInteger(number) ? number : null;
}
