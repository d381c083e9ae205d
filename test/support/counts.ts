import { addDailyCounts } from '../../src/metering/credits/daily-counts.ts';
import type { RowsQuery } from '../../src/platform/postgres/batches.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';

/**
 * Adds counts of days, with the sums over keys, as a roll-up or the notes of error answers do.
 * @param rows SQL for account, day, key, kind and calls, and for errors the credits that they cost
 */
const store = (sql: Sql, rows: RowsQuery, columns: RowsQuery, credits: RowsQuery, areErrors: boolean) =>
  addDailyCounts(
    sql,
    sql`
      SELECT account_id::text, (day::date::timestamp AT TIME ZONE 'UTC') AS at, key_id::text, kind::text, calls::bigint, ${credits} AS credits
      FROM (${rows}) AS row (${columns})`,
    { areErrors },
  );

export const storeCallCounts = (sql: Sql, rows: RowsQuery) =>
  store(sql, rows, sql`account_id, day, key_id, kind, calls`, sql`0`, false);

/** @param rows without credits for errors that cost none */
export const storeErrorCounts = (sql: Sql, rows: RowsQuery) =>
  store(sql, rows, sql`account_id, day, key_id, kind, calls`, sql`0`, true);

export const storeCostlyErrorCounts = (sql: Sql, rows: RowsQuery) =>
  store(sql, rows, sql`account_id, day, key_id, kind, calls, credits`, sql`credits::bigint`, true);
