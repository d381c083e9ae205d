/**
 * Arrays in Postgres's text format for statements of the request path. postgres.js searches each element twice for characters
 * to escape.
 */

/** A `text[]`. If a text needs escaping, postgres.js makes it. */
export function textArray(texts: string[]): string | string[] {
  const json = JSON.stringify(texts);
  return json.includes('\\') ? texts : `{${json.slice(1, -1)}}`;
}

export function numberArray(numbers: number[]): string {
  return `{${numbers.join(',')}}`;
}
