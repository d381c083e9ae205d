import type { DailyCalls } from './daily-calls.ts';

/**
 * The daily calls as CSV (RFC 4180), a row for each day and key that has calls: the members of the plot's table, with
 * English column names in every language.
 */
export function csvOf(rows: DailyCalls[]): string {
  const lines = [['day', 'key_id', 'key_name', 'searches', 'lookups', 'calls']];
  for (const { day, keyId, keyName, searches, lookups } of rows) {
    const key = keyId === null ? ['', 'dashboard'] : [keyId, keyName];
    lines.push([day, ...key, String(searches), String(lookups), String(searches + lookups)]);
  }
  return lines.map((line) => `${line.map(cell).join(',')}\r\n`).join('');
}

/** A name that a spreadsheet would run as a formula gets an apostrophe in front. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
