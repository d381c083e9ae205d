import { csvCell } from '../../ingest/cell.ts';
import type { DailyCalls } from './daily-calls.ts';

/**
 * The daily calls as CSV (RFC 4180), a row for each day and key that has calls: the members of the plot's table, with
 * English column names in every language. Every field is quoted, and none is a formula: names of keys are free text.
 */
export function csvOf(rows: DailyCalls[]): string {
  const lines = [['day', 'key_id', 'key_name', 'searches', 'lookups', 'calls']];
  for (const { day, keyId, keyName, searches, lookups } of rows) {
    const key = keyId === null ? ['', 'dashboard'] : [keyId, keyName];
    lines.push([day, ...key, String(searches), String(lookups), String(searches + lookups)]);
  }
  return lines.map((line) => `${line.map(csvCell).join(',')}\r\n`).join('');
}
