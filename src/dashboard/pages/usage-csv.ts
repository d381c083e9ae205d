import type { MemberVisit, Reply } from '../request/visit.ts';
import { csvOf } from '../usage/csv.ts';
import { loadDailyCalls } from '../usage/daily-calls.ts';

/** GET /dashboard/usage.csv: the plot's numbers. */
export async function downloadUsage({ tools, account }: MemberVisit): Promise<Reply> {
  const { today, rows } = await loadDailyCalls(tools.sql, account.id);
  return {
    file: csvOf(rows),
    type: 'text/csv; charset=utf-8',
    headers: { 'Content-Disposition': `attachment; filename="calls-${today}.csv"` },
  };
}
