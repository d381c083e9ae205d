import { csvCell } from '../../ingest/cell.ts';
import type { MemberContext, PageContext, PageResponse } from '../request/page-context.ts';
import { creditHistory, loadGrants } from '../usage/credits.ts';
import { loadDailyCalls, rangeOf } from '../usage/daily-calls.ts';

/**
 * GET /dashboard/usage.csv: the plot's numbers, a row for each day and key that has calls or errors, with English column names in every
 * language.
 */
export async function downloadUsage(context: MemberContext): Promise<PageResponse> {
  const { tools, account, url } = context;
  const { today, rows } = await loadDailyCalls(tools.sql, account, rangeOf(url));
  const columns = ['day', 'key_id', 'key_name', 'searches', 'lookups', 'calls'];
  const errors = ['rate_limit_exceeded', 'monthly_quota_exceeded', 'other_4xx', 'status_5xx'];
  const lines = rows.map((row) => {
    const key = row.keyId === null ? ['', 'dashboard'] : [row.keyId, row.keyName];
    const calls = [row.searches, row.lookups, row.searches + row.lookups];
    return [row.day, ...key, ...calls, row.rateLimited, row.outOfCredits, row.clientErrors, row.serverErrors];
  });
  return csvFile(context, `calls-${today}`, [[...columns, ...errors], ...lines]);
}

/** GET /dashboard/credits.csv: the history of purchased credits. */
export async function downloadCredits(context: MemberContext): Promise<PageResponse> {
  const { tools, account } = context;
  const entries = creditHistory(await loadGrants(tools.sql, account.id), account.credits);
  const lines = entries.map(({ kind, from, until, credits, balance, reference, note }) => [
    kind,
    from.toISOString(),
    until?.toISOString(),
    credits,
    balance,
    reference,
    note,
  ]);
  const columns = ['kind', 'from', 'until', 'credits', 'balance', 'reference', 'note'];
  return csvFile(context, 'credits', [columns, ...lines]);
}

/** The query of a link to a CSV. Portuguese spreadsheets separate by semicolons. */
export function separatorQuery({ messages }: Pick<PageContext, 'messages'>): string {
  return messages.language === 'pt' ? 'separator=semicolon' : 'separator=comma';
}

type Cell = string | number | null | undefined;

/**
 * A CSV file (RFC 4180): every field is quoted, and none is a formula, because names and notes are free text. One that is
 * separated by semicolons begins with a BOM, because it is for spreadsheets.
 */
function csvFile({ url }: PageContext, name: string, lines: Cell[][]): PageResponse {
  const isForSpreadsheet = url.searchParams.get('separator') === 'semicolon';
  const [start, separator] = isForSpreadsheet ? ['\ufeff', ';'] : ['', ','];
  const row = (cells: Cell[]) => `${cells.map((cell) => csvCell(String(cell ?? ''))).join(separator)}\r\n`;
  return {
    file: start + lines.map(row).join(''),
    type: 'text/csv; charset=utf-8',
    headers: { 'Content-Disposition': `attachment; filename="${name}.csv"` },
  };
}
