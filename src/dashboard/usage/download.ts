import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import { csvCell } from '../../platform/csv-cell.ts';
import { withTimeout } from '../../platform/runtime/timeout.ts';
import { KIB, MIB, MINUTE, SECOND } from '../../platform/units.ts';
import { countAttempt, type Limit } from '../auth/limits.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { tooMany } from '../request/forms.ts';
import { tooOftenPage } from '../request/refusals.ts';
import { callsOf, type DailyRow, dailyRows, daysOf, rangeOf } from './daily-calls.ts';

/** A reader is this fast on average, or this fast if another account waits for its place. */
const BYTES_PER_MS = (256 * KIB) / SECOND;
const WANTED_BYTES_PER_MS = MIB / SECOND;
/** It makes no progress for this long at most. */
const STALL_MS = 10 * SECOND;
const WANTED_STALL_MS = 5 * SECOND;
/** It has the whole file by then: at the slowest pace 75 MiB, a million rows of a CSV. */
const LONGEST_MS = 5 * MINUTE;

type Pace = ReturnType<typeof createPace>;

/**
 * How long a download still waits for its reader. A download holds a connection to Postgres and a snapshot, which keeps dead rows
 * of all tables. So its reader may not take as long as it likes, and leaves a place sooner that another account wants.
 *
 * @param isWanted whether an account without a place waits for one
 */
export function createPace(isWanted: () => boolean) {
  const endMs = performance.now() + LONGEST_MS;
  let leftMs = STALL_MS;
  return {
    /** 0 if the time is up. */
    leftMs: () => Math.max(0, Math.min(leftMs, endMs - performance.now())),
    /** The reader has taken so many bytes in this time. */
    took(bytes: number, tookMs: number): void {
      const [bytesPerMs, stallMs] = isWanted()
        ? [WANTED_BYTES_PER_MS, WANTED_STALL_MS]
        : [BYTES_PER_MS, STALL_MS];
      leftMs = Math.min(leftMs - tookMs + bytes / bytesPerMs, stallMs);
    },
  };
}

/** After each part. Without it, two large downloads take most of the event loop, which the API shares. */
const PAUSE_MS = 4;

/** Sends a part of a file, and waits until its reader has taken it. */
export type WritePart = (part: string) => Promise<void>;

/**
 * A file that grows with its account. It is sent in parts as fast as its reader takes them ({@link createPace}), so it is never whole
 * in memory. All downloads share a few places, of which an account has one. A cut-off download has no end, which its reader
 * notices.
 *
 * @param file.limit counts the downloads that got a place; absent: without a limit
 */
export async function download(
  context: MemberContext,
  { name, type, limit }: { name: string; type: string; limit?: Limit },
  send: (write: WritePart) => Promise<void>,
): Promise<PageResponse> {
  const { messages, tools, account } = context;
  // A download that waits keeps no place from pages.
  context.leave();
  const leave = await tools.downloads.enter(account.id);
  let sending = Promise.resolve();
  try {
    const early = limit === undefined ? null : tooMany(context, await countAttempt(tools.sql, limit));
    if (early !== null) return tooOftenPage(context, { ...early, message: messages.exportedNow });
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const isWanted = () => tools.downloads.isWantedBeside(account.id);
    sending = sendParts(context, writable.getWriter(), createPace(isWanted), send);
    const headers = { 'Content-Disposition': `attachment; filename="${name}"` };
    return { file: readable, type, headers };
  } finally {
    void sending.finally(leave);
  }
}

/** It never fails. */
async function sendParts(
  { tools, trace }: MemberContext,
  body: WritableStreamDefaultWriter<Uint8Array>,
  pace: Pace,
  send: (write: WritePart) => Promise<void>,
): Promise<void> {
  const abort = (reason: unknown) => void body.abort(reason).catch(() => {});
  const stop = () => abort(tools.stopping.reason);
  tools.stopping.addEventListener('abort', stop, { once: true });
  const encoder = new TextEncoder();
  try {
    await send(async (part) => {
      const bytes = encoder.encode(part);
      const beganAtMs = performance.now();
      await withTimeout(body.write(bytes), pace.leftMs(), 'the reader of a download');
      pace.took(bytes.length, performance.now() - beganAtMs);
      await Bun.sleep(PAUSE_MS);
    });
    await body.close();
  } catch (error) {
    abort(error);
    tools.log.warn({ err: error, requestId: trace.requestId }, 'a download was cut off');
  } finally {
    tools.stopping.removeEventListener('abort', stop);
  }
}

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

/** Lines of a part of a CSV, at least. A day can have one row, and a part has a pause. */
const LINES_OF_PART = 200;

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
  const file = { name: `usage-${days.from}-${days.to}.csv`, type: 'text/csv; charset=utf-8' };
  return download(context, file, async (write) => {
    let pending = csvText(context, [columns]);
    let lines = 0;
    await tools.sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (sql) => {
      for await (const rows of dailyRows(sql, account, days)) {
        pending += csvLines(context, rows.map(line));
        lines += rows.length;
        if (lines < LINES_OF_PART) continue;
        await write(pending);
        [pending, lines] = ['', 0];
      }
    });
    await write(pending);
  });
}

type Cell = string | number | null | undefined;

/**
 * CSV (RFC 4180). Texts are quoted, and none is a formula, because names and notes are free text. Numbers stand as they are: a
 * spreadsheet adds them up, negative ones too. The BOM tells it that the file is UTF-8.
 */
export const csvText = (context: MemberContext, lines: Cell[][]) => `\ufeff${csvLines(context, lines)}`;

/** Portuguese spreadsheets separate by semicolons. */
function csvLines({ messages }: MemberContext, lines: Cell[][]): string {
  const write = (cell: Cell) => (typeof cell === 'number' ? String(cell) : csvCell(cell ?? ''));
  const separator = messages.language === 'pt' ? ';' : ',';
  return lines.map((line) => `${line.map(write).join(separator)}\r\n`).join('');
}
