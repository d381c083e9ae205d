import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Days, Range } from './range.ts';

/** The counts of a day: calls by kind, error answers by kind (src/metering/usage/error-answers.ts), and the credits that errors cost. */
type Counts = Record<CallKind | ErrorKind | 'errorCredits', number>;

/** Admitted calls of one UTC day by one key, and its error answers. */
export interface DailyCalls extends Counts {
  /** YYYY-MM-DD */
  day: string;
  /** `null` means that the call was made in the dashboard; {@link OTHER_KEYS}. */
  keyId: string | null;
  keyName: string;
  /** The first characters of the key's secret; '' for the dashboard. */
  keyStart: string;
}

/** The calls of a day and key, of every kind. */
export const callsOf = (row: DailyCalls): number => CALL_KINDS.reduce((sum, kind) => sum + row[kind], 0);

/** The days of a range: none after today by Postgres's clock, and none before the account's first call or error. */
export interface DailyHistory extends Days {
  /** The day of the account's first call or error; `null` if it has none. */
  first: string | null;
  /** Oldest first; a day and key without calls and errors has no row. */
  rows: DailyCalls[];
}

/** The `keyId` of keys that share their rows. */
export const OTHER_KEYS = 'others';

/**
 * The account's charged calls and its error answers in a range.
 * @param ownRows the number of busiest keys with separate rows; other keys share theirs. Absent: every key has separate rows
 * @param ofKey only the calls of this key
 */
export async function loadDailyCalls(
  sql: Sql,
  { id, period }: { id: string; period: { start: Date } },
  range: Range,
  { ownRows, ofKey }: { ownRows?: number; ofKey?: string } = {},
): Promise<DailyHistory> {
  const counts = [...CALL_KINDS, ...ERROR_KINDS].map(
    (kind) => sql`coalesce(sum(d.calls) FILTER (WHERE d.kind = ${kind}), 0)::bigint AS ${sql(kind)},`,
  );
  const today = sql`(now() AT TIME ZONE 'UTC')::date`;
  const [from, to] =
    typeof range === 'object'
      ? [sql`${range.from}::date`, sql`least(${range.to}::date, ${today})`]
      : range === 'period'
        ? [sql`(${period.start}::timestamptz AT TIME ZONE 'UTC')::date`, today]
        : [sql`${today} - ${range - 1}::integer`, today];
  const busiest = sql`
    SELECT key_id FROM counted WHERE kind IN ${sql(CALL_KINDS)}
    GROUP BY key_id ORDER BY sum(calls) DESC, key_id LIMIT ${ownRows ?? null}`;
  // Postgres makes one pass if it need not rank the keys.
  const keyId =
    ownRows === undefined
      ? sql`key_id`
      : ownRows === 0
        ? sql`${OTHER_KEYS}`
        : sql`CASE WHEN key_id IN (${busiest}) THEN key_id ELSE ${OTHER_KEYS} END`;
  const counted = sql`
    account_id = ${id} AND day BETWEEN ${from} AND ${to} ${ofKey === undefined ? sql`` : sql`AND key_id = ${ofKey}`}`;
  const rows = await sql<(DailyCalls & Omit<DailyHistory, 'rows'>)[]>`
    WITH counted AS (
      SELECT day, key_id, kind, calls, 0 AS cost FROM calls_by_day WHERE ${counted}
      UNION ALL
      SELECT day, key_id, kind, calls, credits FROM daily_error_answers WHERE ${counted}),
    d AS (
      SELECT day, ${keyId} AS key_id, kind, sum(calls)::bigint AS calls, sum(cost) AS cost FROM counted GROUP BY 1, 2, 3),
    known AS (
      SELECT least(
        (SELECT min(day) FROM daily_calls WHERE account_id = ${id}),
        (SELECT min(day) FROM daily_error_answers WHERE account_id = ${id}),
        (SELECT min(day) FROM d)) AS first)
    SELECT first::text, greatest(${from}, first)::text AS from, ${to}::text AS to, d.day::text, nullif(d.key_id, '') AS "keyId",
      coalesce(k.name, '') AS "keyName", coalesce(k.start, '') AS "keyStart",
      ${counts}
      coalesce(sum(d.cost), 0)::bigint AS "errorCredits"
    FROM known
    LEFT JOIN d ON true
    LEFT JOIN api_keys k ON k.id = d.key_id AND k.account_id = ${id}
    GROUP BY first, d.day, d.key_id, k.name, k.start, k.created_at
    ORDER BY d.day, k.created_at, d.key_id`;
  const { first, from: firstShown, to: lastShown } = rows[0]!;
  return { first, from: firstShown, to: lastShown, rows: rows.filter((row) => row.day !== null) };
}
