import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import { csvCell } from '../../platform/csv-cell.ts';
import type { MemberContext, PageContext } from '../page-context.ts';
import type { PageResponse } from '../request/context.ts';
import { messagePage } from '../request/layout.ts';
import { creditHistory, entriesOf, loadGrants } from './credits.ts';
import { callsOf, loadDailyCalls } from './daily-calls.ts';
import { chosenDays, rangeOf } from './range.ts';

const COLUMNS: Record<CallKind | ErrorKind, string> = {
  search: 'searches',
  match: 'matches',
  lookup: 'lookups',
  debts: 'debts',
  'rate-limit-exceeded': 'rate_limit_exceeded',
  'monthly-quota-exceeded': 'monthly_quota_exceeded',
  '4xx': 'other_4xx',
  '5xx': 'status_5xx',
  '401': 'status_401',
};
const columnOf = (kind: CallKind | ErrorKind) => COLUMNS[kind];

/**
 * GET /dashboard/usage.csv: the plot's numbers, a row for each day and key that has calls or errors, with English column names in every
 * language.
 */
export async function downloadUsage(context: MemberContext): Promise<PageResponse> {
  const { tools, account, url } = context;
  const range = rangeOf(url);
  if (range === 'invalid') return invalidDays(context);
  const { from, to, rows } = await loadDailyCalls(tools.sql, account, range);
  const [calls, errors] = [CALL_KINDS.map(columnOf), ERROR_KINDS.map(columnOf)];
  const columns = ['day', 'key_id', 'key_name', ...calls, 'calls', ...errors, 'error_credits'];
  const lines = rows.map((row) => [
    row.day,
    ...(row.keyId === null ? ['', 'dashboard'] : [row.keyId, row.keyName]),
    ...CALL_KINDS.map((kind) => row[kind]),
    callsOf(row),
    ...ERROR_KINDS.map((kind) => row[kind]),
    row.errorCredits,
  ]);
  return csvFile(context, `calls-${from}-${to}`, [columns, ...lines]);
}

/** GET /dashboard/credits.csv: the history of purchased credits, or of chosen days. */
export async function downloadCredits(context: MemberContext): Promise<PageResponse> {
  const { tools, account, url } = context;
  const days = chosenDays(url);
  if (days === 'invalid') return invalidDays(context);
  const entries = entriesOf(creditHistory(await loadGrants(tools.sql, account.id), account.credits), days);
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

const invalidDays = (context: MemberContext) =>
  messagePage(context, 422, context.messages.failed, context.messages.daysInvalid);

/** The separator of a CSV. Portuguese spreadsheets separate by semicolons. */
type Separator = 'semicolon' | 'comma';

export function separatorOf({ messages }: Pick<PageContext, 'messages'>): Separator {
  return messages.language === 'pt' ? 'semicolon' : 'comma';
}

/** The query of a link to a CSV. */
export function separatorQuery(context: Pick<PageContext, 'messages'>): string {
  return `separator=${separatorOf(context)}`;
}

type Cell = string | number | null | undefined;

/**
 * CSV (RFC 4180). Texts are quoted, and none is a formula, because names and notes are free text. Numbers stand as they are: a
 * spreadsheet adds them up, negative ones too. The BOM tells it that the file is UTF-8.
 */
export function csvText(separator: Separator, lines: Cell[][]): string {
  const between = separator === 'semicolon' ? ';' : ',';
  const write = (cell: Cell) => (typeof cell === 'number' ? String(cell) : csvCell(cell ?? ''));
  const row = (cells: Cell[]) => `${cells.map(write).join(between)}\r\n`;
  return `\ufeff${lines.map(row).join('')}`;
}

function csvFile({ url }: PageContext, name: string, lines: Cell[][]): PageResponse {
  const separator = url.searchParams.get('separator') === 'semicolon' ? 'semicolon' : 'comma';
  return {
    file: csvText(separator, lines),
    type: 'text/csv; charset=utf-8',
    headers: { 'Content-Disposition': `attachment; filename="${name}.csv"` },
  };
}
