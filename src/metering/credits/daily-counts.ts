import type { RowsQuery } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';

/**
 * SQL that adds to the sums of days (the table `daily_counts`): for each key, for all keys of the account, and for all keys by hour. So a
 * statement that counts is a statement that keeps the totals, in one order of rows.
 *
 * @param rows SQL for columns `account_id`, `at`, `key_id`, `kind`, `calls` (negative: returned) and `credits` (that errors cost)
 */
export const addDailyCounts = (sql: Sql, rows: RowsQuery, { areErrors }: { areErrors: boolean }) => sql`
  INSERT INTO daily_counts AS known (account_id, day, key_id, kind, hour, is_error, calls, credits)
  SELECT account_id, day, CASE GROUPING(key_id) WHEN 1 THEN '*' ELSE key_id END AS key_id, kind,
    CASE GROUPING(hour) WHEN 1 THEN -1 ELSE hour END AS hour, ${areErrors}, sum(calls), sum(credits)
  FROM (
    SELECT account_id COLLATE "C" AS account_id, (at AT TIME ZONE 'UTC')::date AS day, key_id COLLATE "C" AS key_id, kind COLLATE "C" AS kind,
      extract(hour FROM at AT TIME ZONE 'UTC')::smallint AS hour, calls, credits
    FROM (${rows}) AS row) AS counted
  GROUP BY GROUPING SETS ((account_id, day, key_id, kind), (account_id, day, kind), (account_id, day, kind, hour))
  ORDER BY account_id, day, 3, kind, 5
  ON CONFLICT (account_id, day, key_id, kind, hour) DO UPDATE
    SET calls = known.calls + excluded.calls, credits = known.credits + excluded.credits`;
