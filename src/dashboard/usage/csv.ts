import { csvCell } from '../../ingest/cell.ts';
import type { DailyCalls } from './daily-calls.ts';

/**
 * The daily calls and errors as CSV (RFC 4180), a row for each day and key that has any: the members of the plot's table, with
 * English column names in every language. Every field is quoted, and none is a formula: names of keys are free text.
 */
export function csvOf(rows: DailyCalls[]): string {
  const columns = ['day', 'key_id', 'key_name', 'searches', 'lookups', 'calls'];
  const lines = [[...columns, 'rate_limit_exceeded', 'monthly_quota_exceeded', 'other_4xx', 'status_5xx']];
  for (const row of rows) {
    const key = row.keyId === null ? ['', 'dashboard'] : [row.keyId, row.keyName];
    const numbers = [row.searches, row.lookups, row.searches + row.lookups];
    numbers.push(row.rateLimited, row.outOfCredits, row.clientErrors, row.serverErrors);
    lines.push([row.day, ...key, ...numbers.map(String)]);
  }
  return lines.map((line) => `${line.map(csvCell).join(',')}\r\n`).join('');
}
