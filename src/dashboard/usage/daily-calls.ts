import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import { utcDay } from '../../platform/dates.ts';
import { only } from '../../platform/postgres/answer.ts';
import { batchesOf } from '../../platform/postgres/batches.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { DAY } from '../../platform/units.ts';
import type { MemberContext } from '../context.ts';
import { pathBelow } from '../request/return-path.ts';
import { type Html, html } from '../ui/html.ts';

/** Days in UTC, each YYYY-MM-DD, both included. */
export interface Days {
  from: string;
  to: string;
}

const RANGES = [7, 30, 90, 'period'] as const;

/** A calendar month in UTC, YYYY-MM. */
export type Month = `${string}-${string}`;

/** The range of the plots, the tables and the CSV: so many days with today, the current period, or a month. */
export type Range = (typeof RANGES)[number] | Month;

/** Whether a range is a month, which may be over. */
const isMonth = (range: Range): range is Month => typeof range === 'string' && range !== 'period';

const MONTH = /^20\d\d-(0[1-9]|1[0-2])$/;

/** The range in `?days=`, by default 90 days. */
export function rangeOf({ searchParams }: URL): Range {
  const days = searchParams.get('days') ?? '';
  return MONTH.test(days) ? (days as Month) : (RANGES.find((range) => String(range) === days) ?? 90);
}

/** The next day. */
export const dayAfter = (day: string): string => utcDay(Date.parse(day) + DAY);

/** The month so many months before the one of a day. */
export function monthBefore(day: string, months: number): Month {
  const [year, month] = day.split('-').map(Number) as [number, number];
  return utcDay(Date.UTC(year, month - 1 - months, 1)).slice(0, 7) as Month;
}

/** The days of a month. */
export function daysOfMonth(range: Month): Days {
  const [year, month] = range.split('-').map(Number) as [number, number];
  return { from: `${range}-01`, to: utcDay(Date.UTC(year, month, 0)) };
}

/** The most past months in the menu. */
const MAX_MONTHS = 12;

/**
 * The one choice of days: ranges up to today, and past months. It is named by what is shown.
 *
 * @param range that is shown
 * @param first the first day that has something to show; `null` if none has
 */
export function daysMenu(
  { messages, formats, tools, url }: MemberContext,
  range: Range,
  first: string | null,
): Html {
  const today = utcDay(Date.now());
  const label = (shown: Range) => {
    if (shown === 'period') return messages.thisPeriod;
    return isMonth(shown) ? formats.month(new Date(shown)) : messages.days(String(shown));
  };
  const past = Array.from({ length: MAX_MONTHS }, (_, index) => monthBefore(today, index + 1));
  const months = past.filter((month) => first !== null && first <= daysOfMonth(month).to);
  const link = (to: Range) =>
    html`<li><a href="${tools.base}${pathBelow(url)}?days=${to}#calls"${to === range && html` aria-current="true"`}>${label(to)}</a></li>`;
  return html`
<details class="menu days">
  <summary><span class="unseen">${messages.range}: </span>${label(range)}</summary>
  <div><ul>${[...RANGES, ...months].map(link)}</ul></div>
</details>`;
}

/** The counts of a day: calls by kind, error answers by kind (src/metering/notes/counts.ts), and the credits that errors cost. */
type Counts = Record<CallKind | ErrorKind | 'errorCredits', number>;

/** Charged calls of one UTC day, and error answers. */
export interface DailyCalls extends Counts {
  /** YYYY-MM-DD */
  day: string;
}

/** The calls of a day, of every kind. */
export const callsOf = (row: Counts): number => CALL_KINDS.reduce((sum, kind) => sum + row[kind], 0);

/** The credits of some days. */
export const creditsOf = (rows: Counts[]): number => rows.reduce((sum, row) => sum + callsOf(row), 0);

/** The days of a range: none after today by Postgres's clock, and none before the account's first call or error. */
export interface DailyHistory extends Days {
  /** The day of the account's first call or error; `null` if it has none. */
  first: string | null;
  /** Oldest first; a day without calls and errors has no row. */
  rows: DailyCalls[];
}

/** An account and its current period. */
type Counted = { id: string; period: { start: Date } };

/** The days of a range, and the account's first day. */
export async function daysOf(
  sql: Sql | Transaction,
  { id, period }: Counted,
  range: Range,
): Promise<Omit<DailyHistory, 'rows'>> {
  const today = sql`(now() AT TIME ZONE 'UTC')::date`;
  const bounds = () => {
    if (range === 'period')
      return [sql`(${period.start}::timestamptz AT TIME ZONE 'UTC')::date`, today] as const;
    if (!isMonth(range)) return [sql`${today} - ${range - 1}::integer`, today] as const;
    const month = daysOfMonth(range);
    return [sql`${month.from}::date`, sql`least(${month.to}::date, ${today})`] as const;
  };
  const [from, to] = bounds();
  const rows = await sql<Omit<DailyHistory, 'rows'>[]>`
    SELECT first::text, greatest(${from}, first)::text AS from, ${to}::text AS to
    FROM (SELECT min(day) AS first FROM account_counts WHERE account_id = ${id}) AS known`;
  return only(rows);
}

/** SQL for the counts by kind, of rows `d`. */
const countsByKind = (sql: Sql | Transaction) => sql`
  ${[...CALL_KINDS, ...ERROR_KINDS].map(
    (kind) => sql`coalesce(sum(d.calls) FILTER (WHERE d.kind = ${kind}), 0)::bigint AS ${sql(kind)},`,
  )} coalesce(sum(d.cost), 0)::bigint AS "errorCredits"`;

/** SQL for the calls and error answers of an account on some days: several rows for a day, key and kind. */
function countRows(sql: Sql | Transaction, id: string, { from, to }: Days, ofKey?: string) {
  const counted = sql`
    account_id = ${id} AND day BETWEEN ${from} AND ${to} ${ofKey === undefined ? sql`` : sql`AND key_id = ${ofKey}`}`;
  return sql`
    SELECT day, key_id, kind, calls, 0 AS cost FROM call_counts WHERE ${counted}
    UNION ALL
    SELECT day, key_id, kind, calls, credits FROM key_counts WHERE ${counted} AND is_error`;
}

/** The hours of the plot of hours. */
export const PLOTTED_HOURS = 48;

/** The counts of the last hours, each with its beginning in the place of its day: YYYY-MM-DDTHH:00Z. */
export async function loadHours(sql: Sql, id: string): Promise<DailyCalls[]> {
  return sql<DailyCalls[]>`
    SELECT to_char(day + hour * interval '1 hour', 'YYYY-MM-DD"T"HH24:00"Z"') AS day, ${countsByKind(sql)}
    FROM (SELECT *, credits AS cost FROM daily_counts
      WHERE account_id = ${id} AND key_id = '*' AND hour >= 0 AND day >= (now() AT TIME ZONE 'UTC')::date - 2
        AND day + hour * interval '1 hour' > (now() AT TIME ZONE 'UTC') - ${PLOTTED_HOURS} * interval '1 hour') AS d
    GROUP BY day, hour`;
}

/** A row of the CSV: the counts of a day and key. */
export interface DailyRow extends DailyCalls {
  /** `null` means that the calls were made in the dashboard. */
  keyId: string | null;
  keyName: string;
}

/**
 * A row for each day and key that has calls or errors, in batches, by day and key, the dashboard's last. Each day is read by
 * itself: Postgres would group all days before it answers the first row, which takes longer than a statement may.
 */
export async function* dailyRows(sql: Transaction, { id }: Counted, { from, to }: Days) {
  for (let day = from; day <= to; day = dayAfter(day)) {
    yield* batchesOf<DailyRow>(
      sql,
      sql`
        SELECT d.day::text, nullif(d.key_id, '') AS "keyId",
          coalesce((SELECT name FROM api_keys k WHERE k.id = d.key_id AND k.account_id = ${id}), '') AS "keyName",
          ${countsByKind(sql)}
        FROM (${countRows(sql, id, { from: day, to: day })}) AS d
        GROUP BY d.day, d.key_id HAVING sum(d.calls) > 0 ORDER BY d.key_id = '', d.key_id`,
    );
  }
}

/**
 * The charged calls and the error answers of a range, by day: the sums over all keys of the account, or those of one key.
 */
export async function loadDailyCalls(
  sql: Sql,
  account: Counted,
  range: Range,
  ofKey?: string,
): Promise<DailyHistory> {
  const { id } = account;
  const days = await daysOf(sql, account, range);
  const counted =
    ofKey !== undefined
      ? countRows(sql, id, days, ofKey)
      : sql`
        SELECT day, kind, calls, credits AS cost FROM account_counts
        WHERE account_id = ${id} AND day BETWEEN ${days.from} AND ${days.to}`;
  const rows = await sql<DailyCalls[]>`
    SELECT d.day::text, ${countsByKind(sql)} FROM (${counted}) AS d
    GROUP BY d.day HAVING sum(d.calls) > 0 ORDER BY d.day`;
  return { ...days, rows: [...rows] };
}
