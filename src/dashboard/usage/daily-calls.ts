import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import { LONG_ENDED_KEYS } from '../../metering/keys/authenticate.ts';
import { only } from '../../platform/postgres/answer.ts';
import { batchesOf } from '../../platform/postgres/batches.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { type Days, dayAfter, type Range } from './range.ts';

/** The counts of a day: calls by kind, error answers by kind (src/metering/usage/error-answers.ts), and the credits that errors cost. */
type Counts = Record<CallKind | ErrorKind | 'errorCredits', number>;

/** Charged calls of one UTC day by one key, and its error answers. */
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
export const callsOf = (row: Counts): number => CALL_KINDS.reduce((sum, kind) => sum + row[kind], 0);

/** The error answers of a day and key, of every kind. */
export const errorsOf = (row: Counts): number => ERROR_KINDS.reduce((sum, kind) => sum + row[kind], 0);

/** The days of a range: none after today by Postgres's clock, and none before the account's first call or error. */
export interface DailyHistory extends Days {
  /** The day of the account's first call or error; `null` if it has none. */
  first: string | null;
  /** Oldest first; a day and key without calls and errors has no row. */
  rows: DailyCalls[];
}

/** The `keyId` of keys that share their rows. */
export const OTHER_KEYS = 'others';

/** An account and its current period. */
type Counted = { id: string; period: { start: Date } };

/** The days of a range, and the account's first day. */
export async function daysOf(
  sql: Sql | Transaction,
  { id, period }: Counted,
  range: Range,
): Promise<Omit<DailyHistory, 'rows'>> {
  const today = sql`(now() AT TIME ZONE 'UTC')::date`;
  const [from, to] =
    typeof range === 'object'
      ? [sql`${range.from}::date`, sql`least(${range.to}::date, ${today})`]
      : range === 'period'
        ? [sql`(${period.start}::timestamptz AT TIME ZONE 'UTC')::date`, today]
        : [sql`${today} - ${range - 1}::integer`, today];
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
function countRows(sql: Sql | Transaction, id: string, { from, to }: Days, ofKeys?: string[]) {
  const counted = sql`
    account_id = ${id} AND day BETWEEN ${from} AND ${to} ${ofKeys === undefined ? sql`` : sql`AND key_id = ANY (${ofKeys}::text[])`}`;
  return sql`
    SELECT day, key_id, kind, calls, 0 AS cost FROM call_counts WHERE ${counted}
    UNION ALL
    SELECT day, key_id, kind, calls, credits FROM daily_error_answers WHERE ${counted}`;
}

/** A row of the CSV. */
export type DailyRow = Omit<DailyCalls, 'keyStart'>;

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

/** The busiest keys of a range are sought in its latest rows of a day, key and kind, up to so many. */
const RANKED_ROWS = 10_000;

/**
 * The account's charged calls and its error answers in a range. It reads the sums of all keys, and rows of few keys.
 * @param ownRows the number of busiest keys, by credits and by errors, with separate rows; other keys share theirs
 * @param ofKey only the calls of this key
 */
export async function loadDailyCalls(
  sql: Sql,
  account: Counted,
  range: Range,
  { ownRows = 0, ofKey }: { ownRows?: number; ofKey?: string },
): Promise<DailyHistory> {
  const { id } = account;
  const days = await daysOf(sql, account, range);
  const within = sql`account_id = ${id} AND day BETWEEN ${days.from} AND ${days.to}`;
  const busiestIn = (table: string) => sql`
    (SELECT key_id AS key FROM (
      SELECT key_id, calls FROM ${sql(table)} WHERE ${within} AND key_id <> ${LONG_ENDED_KEYS} ORDER BY day DESC LIMIT ${RANKED_ROWS}) AS latest
    GROUP BY key_id ORDER BY sum(calls) DESC, key_id LIMIT ${ownRows})`;
  const busiest = sql<
    { key: string }[]
  >`${busiestIn('call_counts')} UNION ${busiestIn('daily_error_answers')}`;
  const own = ownRows === 0 ? [] : (await busiest).map(({ key }) => key);
  const ofOwn = countRows(sql, id, days, own);
  const counted =
    ofKey !== undefined
      ? countRows(sql, id, days, [ofKey])
      : sql`
        SELECT day, ${OTHER_KEYS} AS key_id, kind, calls, credits AS cost FROM account_counts WHERE ${within}
        UNION ALL SELECT day, ${OTHER_KEYS}, kind, -calls, -cost FROM (${ofOwn}) AS theirs
        UNION ALL ${ofOwn}`;
  const rows = await sql<DailyCalls[]>`
    SELECT d.day::text, nullif(d.key_id, '') AS "keyId", coalesce(k.name, '') AS "keyName", coalesce(k.start, '') AS "keyStart",
      ${countsByKind(sql)}
    FROM (${counted}) AS d LEFT JOIN api_keys k ON k.id = d.key_id AND k.account_id = ${id}
    GROUP BY d.day, d.key_id, k.name, k.start, k.created_at HAVING sum(d.calls) > 0
    ORDER BY d.day, k.created_at, d.key_id`;
  return { ...days, rows: [...rows] };
}
