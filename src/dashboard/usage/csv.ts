import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import { csvCell } from '../../platform/csv-cell.ts';
import { inPages } from '../../platform/postgres/batches.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { type CreditEntry, creditHistory, type Grant, loadGrants } from './credits.ts';
import { callsOf, type DailyRow, dailyRows, daysOf } from './daily-calls.ts';
import { download } from './download.ts';
import { rangeOf } from './range.ts';

const COLUMNS: Record<CallKind | ErrorKind, string> = {
  search: 'searches',
  match: 'matches',
  resolve: 'resolutions',
  lookup: 'lookups',
  debts: 'debts',
  'rate-limit-exceeded': 'rate_limit_exceeded',
  'monthly-quota-exceeded': 'monthly_quota_exceeded',
  'key-limits': 'key_limits',
  '4xx': 'other_4xx',
  '5xx': 'status_5xx',
  '401': 'status_401',
};

/**
 * GET /dashboard/usage.csv: the plot's numbers, a row for each day and key that has calls or errors, with English column names in every
 * language.
 */
export async function downloadUsage(context: MemberContext): Promise<PageResponse> {
  const { tools, account, url } = context;
  const days = await daysOf(tools.sql, account, rangeOf(url));
  const [calls, errors] = [CALL_KINDS.map((kind) => COLUMNS[kind]), ERROR_KINDS.map((kind) => COLUMNS[kind])];
  const columns = ['day', 'key_id', 'key_name', ...calls, 'credits', ...errors, 'error_credits'];
  const line = (row: DailyRow) => [
    row.day,
    ...(row.keyId === null ? ['', 'dashboard'] : [row.keyId, row.keyName]),
    ...CALL_KINDS.map((kind) => row[kind]),
    callsOf(row),
    ...ERROR_KINDS.map((kind) => row[kind]),
    row.errorCredits,
  ];
  return csvDownload(context, `usage-${days.from}-${days.to}`, columns, (write) =>
    tools.sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (sql) => {
      for await (const rows of dailyRows(sql, account, days)) await write(rows.map(line));
    }),
  );
}

/** Grants of a part of the CSV. */
const GRANTS_AT_A_TIME = 200;

/** GET /dashboard/credits.csv: the history of purchased credits. */
export function downloadCredits(context: MemberContext): Promise<PageResponse> {
  const { tools, account } = context;
  const columns = ['kind', 'from', 'until', 'credits', 'balance', 'reference', 'note'] as const;
  const line = (entry: CreditEntry) => columns.map((column) => entry[column]);
  return csvDownload(context, 'credits', columns, async (write) => {
    const grants = inPages<Grant>((last) =>
      loadGrants(tools.sql, account.id, { below: last?.id, order: 'DESC', rows: GRANTS_AT_A_TIME }),
    );
    for await (const page of grants) await write(creditHistory(page).map(line));
  });
}

type Cell = string | number | Date | null | undefined;

/**
 * CSV (RFC 4180). Texts are quoted, and none is a formula, because names and notes are free text. Numbers stand as they are: a
 * spreadsheet adds them up, negative ones too. The BOM tells it that the file is UTF-8.
 */
export function csvText(context: MemberContext, lines: Cell[][]): string {
  return `\ufeff${lines.map((line) => csvLine(context, line)).join('')}`;
}

/** Portuguese spreadsheets separate by semicolons. */
function csvLine({ messages }: MemberContext, cells: Cell[]): string {
  const write = (cell: Cell) => {
    if (typeof cell === 'number') return String(cell);
    return csvCell(cell instanceof Date ? cell.toISOString() : (cell ?? ''));
  };
  return `${cells.map(write).join(messages.language === 'pt' ? ';' : ',')}\r\n`;
}

/** Lines of a part of a CSV, at least. */
const LINES_OF_PART = 200;

/** A CSV that grows with its account. @param send writes the lines below the columns */
function csvDownload(
  context: MemberContext,
  name: string,
  columns: readonly string[],
  send: (write: (lines: Cell[][]) => Promise<void>) => Promise<unknown>,
): Promise<PageResponse> {
  const file = { name: `${name}.csv`, type: 'text/csv; charset=utf-8' };
  return download(context, file, async (write) => {
    let pending = [csvText(context, [[...columns]])];
    const flush = () => write(pending.join(''));
    // A day can have one row, and a part has a pause.
    await send(async (lines) => {
      pending.push(...lines.map((line) => csvLine(context, line)));
      if (pending.length < LINES_OF_PART) return;
      await flush();
      pending = [];
    });
    await flush();
  });
}
