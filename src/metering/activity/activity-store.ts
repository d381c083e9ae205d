/**
 * The activity of an account: a row for each charge, each return of credits, and each answer that was a problem, a refusal or a
 * repetition. The roll-up writes the first two with the counts of calls (src/metering/credits/activity.ts), src/metering/notes the third,
 * this file reads and removes them. Charges less returns of a UTC day that is kept are the calls of that day
 * (docs/api.md: activity).
 */
import type { FeedPage } from '../../http/feed.ts';
import { answerOf } from '../../platform/postgres/answer.ts';
import type { RowsQuery, Slice } from '../../platform/postgres/batches.ts';
import { isLockTimeout, type Sql, type Transaction } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import { ACTIVITY, type ListedRow } from './activity-schema.ts';

/** A row of an account's activity, with the members of the endpoint's (`ActivityRow` of the reference). */
export type ActivityRow = Omit<ListedRow, 'id' | 'at' | 'unlisted'> & {
  number: number;
  /** Of a charge and its returns: when the call counts at. */
  at: Date;
  /** Further answers of the same seconds, which have no row; `null` means that this row is an answer itself. */
  unlisted: number | null;
};

/** A row as programs get it. */
export const printed = ({ number, at, ...row }: ActivityRow) => ({
  id: ACTIVITY.write(number),
  at: at.toISOString(),
  ...row,
});

/** SQL for columns of `activity`. */
export const rowColumns = (sql: Sql | Transaction) => sql`
  number, at, call_id AS call, coalesce(request_id, call_id::text) AS request, kind, nullif(key_id, '') AS key, endpoint,
  status, problem, reason, credits, unlisted`;

/** SQL: rows after this number, which are only searched for in parts that may have some. */
const isAfter = (sql: Sql, number: RowsQuery) => sql`last > ${number} AND number > ${number}`;

/**
 * Reads the rows of an account after a number, oldest first; `null` means all that are kept.
 * @param keyId only the rows of this key; `null` means all
 * @throws when they can't be read
 */
export type ReadActivity = (
  accountId: string,
  after: number | null,
  keyId: string | null,
) => Promise<FeedPage<ActivityRow>>;

/** One statement reads the rows and their bounds, so both are of one moment. */
export async function readActivity(
  sql: Sql,
  accountId: string,
  after: number | null,
  keyId: string | null = null,
): Promise<FeedPage<ActivityRow>> {
  const ofKey = keyId === null ? sql`` : sql`AND key_id = ${keyId}`;
  const found = await answerOf(sql<Parameters<typeof ACTIVITY.pageOf<ActivityRow>>[0]>`
    SELECT numbers.removed, numbers.last, greatest(numbers.last, activity_number(clock_timestamp())) AS highest, page.*
    FROM activity_numbers numbers, LATERAL (SELECT greatest(numbers.removed, ${after}::bigint) AS number) AS start LEFT JOIN LATERAL (
      SELECT ${rowColumns(sql)} FROM activity
      WHERE account_id = ${accountId} AND ${isAfter(sql, sql`start.number`)} ${ofKey}
      ORDER BY last, number LIMIT ${sql.unsafe(String(ACTIVITY.pageRows + 1))}
    ) AS page ON true
    ORDER BY number`);
  return ACTIVITY.pageOf<ActivityRow>(found);
}

export interface ActivityFilter {
  /** The id of a key; `''` means calls made in the dashboard. */
  key?: string | undefined;
  /** Whether only problems are listed. */
  problems?: boolean | undefined;
  /** A UTC day, YYYY-MM-DD. */
  day?: string | undefined;
  /** The id of a call, or the `X-Request-Id` of its answer. */
  request?: string | undefined;
  from?: Date | undefined;
}

/** The rows of an account that meet a filter, in the order of their numbers. It reads no row before the slice. */
export function listActivity(
  sql: Sql,
  accountId: string,
  filter: ActivityFilter,
  { above, below, order, rows }: Slice,
): Promise<ActivityRow[]> {
  const { key, problems, day, request, from } = filter;
  const start = sql`(${day ?? null}::date::timestamp AT TIME ZONE 'UTC')`;
  const conditions: (RowsQuery | false | undefined)[] = [
    isAfter(sql, sql`(SELECT removed FROM activity_numbers)`),
    above !== undefined && isAfter(sql, sql`${above}::bigint`),
    below !== undefined && isBefore(sql, accountId, below),
    // Further answers are of any key.
    key !== undefined && sql`key_id = ${key} AND unlisted IS NULL`,
    // `<>` literally, so that a list of answers is read by their index.
    problems && sql`kind <> 'charge' AND kind = 'answer' AND (problem IS NOT NULL OR unlisted IS NOT NULL)`,
    request !== undefined && sql`(request_id = ${request} OR call_id::text = ${request})`,
    // A row is never written before its call counts.
    from !== undefined && sql`at >= ${from} AND last >= activity_number(${from})`,
    day !== undefined &&
      sql`at >= ${start} AND at < ${start} + interval '1 day' AND last >= activity_number(${start})`,
  ];
  return answerOf(sql<ActivityRow[]>`
    SELECT ${rowColumns(sql)} FROM activity
    WHERE account_id = ${accountId} ${conditions.flatMap((condition) => (condition ? sql`AND ${condition} ` : []))}
    ORDER BY last ${sql.unsafe(order)}, number ${sql.unsafe(order)} LIMIT ${rows}`);
}

/** SQL: rows before this number. Only the first part behind it can have some, and those before that. */
const isBefore = (sql: Sql, accountId: string, number: number) => sql`
  number < ${number} AND last <= coalesce(
    (SELECT min(last) FROM activity_parts WHERE account_id = ${accountId} AND last >= ${number}), ${number})`;

/** The rows of a call are written within this time of each other, unless Postgres is away. */
const CALL_SPREAD_S = 10 * (MINUTE / SECOND);

/** A call: its charge and returns, and its problems. */
export interface ActivityCall {
  /** Its charge; of a call without one its first row. It stands for the call in the order of numbers. */
  first: ActivityRow;
  rows: ActivityRow[];
}

/**
 * The calls of a slice of rows, the latest first: each whole, with rows of other slices, and in the slice of its first row alone. A
 * row without a call is one by itself.
 *
 * @param problems whether the slice has problems alone, one of which then stands for its call
 */
export async function callsOf(
  sql: Sql,
  accountId: string,
  slice: ActivityRow[],
  problems = false,
): Promise<ActivityCall[]> {
  const ids = [...new Set(slice.flatMap(({ call }) => call ?? []))];
  const ends = [slice.at(-1)?.number ?? 0, slice[0]?.number ?? 0];
  const spread = CALL_SPREAD_S * 1_000_000;
  const rows = await answerOf(sql<ActivityRow[]>`
    SELECT ${rowColumns(sql)} FROM activity
    WHERE account_id = ${accountId} AND last BETWEEN ${Math.min(...ends) - spread} AND ${Math.max(...ends) + spread} AND call_id = ANY (${ids}::uuid[])
      AND ${isAfter(sql, sql`(SELECT removed FROM activity_numbers)`)}
    ORDER BY last, number`);
  const byCall = Map.groupBy(rows, ({ call }) => call);
  const isFirst = ({ kind, problem }: ActivityRow) => (problems ? problem !== null : kind === 'charge');
  return slice
    .flatMap((row): ActivityCall[] => {
      const rows = row.call === null ? [row] : (byCall.get(row.call) ?? [row]);
      const first = rows.find(isFirst) ?? rows[0]!;
      return first.number === row.number ? [{ first, rows }] : [];
    })
    .sort((a, b) => b.first.at.getTime() - a.first.at.getTime());
}

/** Parts that one statement of a deletion removes. */
const REMOVED_AT_ONCE = 1000;

/** Removes an account's activity. What is written meanwhile may stay. */
export async function removeActivity(sql: Sql, accountId: string): Promise<void> {
  for (let parts = 1; parts > 0; ) {
    const removed = await sql`
      DELETE FROM activity_parts WHERE account_id = ${accountId} AND last IN (
        SELECT last FROM activity_parts WHERE account_id = ${accountId} ORDER BY last LIMIT ${REMOVED_AT_ONCE})`;
    parts = removed.count;
  }
}

/** Removes the rest of it, in the transaction that marks the account as deleted. No row of the account is written after that. */
export async function removeLastActivity(sql: Transaction, accountId: string): Promise<void> {
  await sql`SELECT take_activity_numbers(0)`;
  await sql`DELETE FROM activity_parts WHERE account_id = ${accountId}`;
}

/** Writers and readers of the activity wait behind a removal for no longer than this. */
const DROP_LOCK_TIMEOUT_MS = 100;

/**
 * Removes the activity of days (UTC) that ended over `days` days ago, a whole day at a time. First it records how far rows are
 * removed, so that no reader sees some of them. A day whose table a session reads, such as a backup, is dropped the next time.
 */
export async function purgeActivity(sql: Sql, days: number): Promise<void> {
  // The cursor of a reader that has read all does not expire, also if nothing is written for long.
  await sql`
    UPDATE activity_numbers SET last = greatest(last, activity_number(clock_timestamp())), removed = greatest(removed, oldest)
    FROM (SELECT activity_number(date_trunc('day', now(), 'UTC') - ${days} * interval '1 day') AS oldest) AS kept`;
  const old = await sql<{ partition: string }[]>`
    SELECT relname AS partition FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'activity_parts'::regclass AND activity_number((right(relname, 8)::date + 1) AT TIME ZONE 'UTC')
      <= (SELECT removed FROM activity_numbers)
    ORDER BY relname`;
  for (const { partition } of old) {
    const dropping = sql.begin(async (transaction) => {
      await transaction.unsafe(`SET LOCAL lock_timeout = ${DROP_LOCK_TIMEOUT_MS}`);
      // Another process may have dropped it.
      await transaction.unsafe(`DROP TABLE IF EXISTS ${quoted(partition)}`);
    });
    await dropping.catch((error) => {
      if (!isLockTimeout(error)) throw error;
    });
  }
}
