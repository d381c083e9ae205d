import type { CallKind } from '../../credits/calls.ts';
import type { Sql } from '../../postgres/connect.ts';
import type { ErrorKind } from '../../usage/error-answers.ts';

/** The range of the plot, the tables and the CSV: so many days with today, or the current period. */
export type Range = 7 | 30 | 90 | 'period';

export const RANGES: Range[] = [7, 30, 90, 'period'];
/** The range in the address, `?days=`; 90 days if it has none. */
export function rangeOf(url: URL): Range {
  return RANGES.find((range) => String(range) === url.searchParams.get('days')) ?? 90;
}

/** Error answers of a day, as src/usage/error-answers.ts counts them. */
export interface Errors {
  rateLimited: number;
  outOfCredits: number;
  clientErrors: number;
  serverErrors: number;
}

/** Admitted calls of one UTC day by one key, and its error answers. */
export interface DailyCalls extends Errors {
  /** YYYY-MM-DD */
  day: string;
  /** `null` means that the call was made in the dashboard. */
  keyId: string | null;
  keyName: string;
  /** The first characters of the key's secret; '' for the dashboard. */
  keyStart: string;
  searches: number;
  lookups: number;
}

export interface DailyHistory {
  /** The last of the days, by Postgres's clock: YYYY-MM-DD. */
  today: string;
  /** The first of the days: the range's, or the day of the account's first call if it was later. */
  from: string;
  /** Oldest first; a day and key without calls and errors has no row. */
  rows: DailyCalls[];
}

/** The account's charged calls and its error answers in a range. */
export async function loadDailyCalls(
  sql: Sql,
  account: { id: string; period: { start: Date } },
  range: Range,
): Promise<DailyHistory> {
  const of = (kind: CallKind | ErrorKind) =>
    sql`coalesce(sum(d.calls) FILTER (WHERE d.kind = ${kind}), 0)::bigint`;
  const from =
    range === 'period'
      ? sql`(${account.period.start}::timestamptz AT TIME ZONE 'UTC')::date`
      : sql`today - ${range - 1}::integer`;
  const rows = await sql<(DailyCalls & { today: string; from: string })[]>`
    WITH counted AS (
      SELECT day, key_id, kind, calls FROM calls_by_day WHERE account_id = ${account.id}
      UNION ALL
      SELECT day, key_id, kind, calls FROM daily_error_answers WHERE account_id = ${account.id}),
    clock AS (
      SELECT today, greatest(${from}, (SELECT min(day) FROM counted)) AS first
      FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS now)
    SELECT today::text, first::text AS from, d.day::text, nullif(d.key_id, '') AS "keyId",
      coalesce(k.name, '') AS "keyName", coalesce(k.start, '') AS "keyStart",
      ${of('search')} AS searches, ${of('lookup')} AS lookups,
      ${of('rate-limit-exceeded')} AS "rateLimited", ${of('monthly-quota-exceeded')} AS "outOfCredits",
      ${of('4xx')} AS "clientErrors", ${of('5xx')} AS "serverErrors"
    FROM clock
    LEFT JOIN counted d ON d.day BETWEEN first AND today
    LEFT JOIN api_keys k ON k.id = d.key_id AND k.account_id = ${account.id}
    GROUP BY today, first, d.day, d.key_id, k.name, k.start, k.created_at
    ORDER BY d.day, k.created_at, d.key_id`;
  return {
    today: rows[0]!.today,
    from: rows[0]!.from,
    rows: rows.filter((row) => row.day !== null).map(({ today: _, from: __, ...row }) => row),
  };
}

/** The day of each key's last admitted call, YYYY-MM-DD; a key that was never used has no entry. */
export async function loadLastUsed(sql: Sql, accountId: string): Promise<Map<string, string>> {
  const rows = await sql<{ key_id: string; day: string }[]>`
    SELECT key_id, max(day)::text AS day FROM calls_by_day
    WHERE account_id = ${accountId} AND key_id <> '' GROUP BY key_id`;
  return new Map(rows.map(({ key_id, day }) => [key_id, day]));
}
