/**
 * Arrays as Postgres reads them, for statements of the request path: postgres.js looks through each element twice for what has
 * to be escaped.
 */

/** A `text[]`; where a text has to be escaped, what postgres.js makes of it. */
export function textArray(texts: string[]): string | string[] {
  const json = JSON.stringify(texts);
  return json.includes('\\') ? texts : `{${json.slice(1, -1)}}`;
}

/** An array of whole numbers. */
export function numberArray(numbers: number[]): string {
  return `{${numbers.join(',')}}`;
}
