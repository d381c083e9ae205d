import type { Sql } from '../../../src/platform/postgres/connect.ts';

/** Sums over keys of `daily_counts` that are not the sums of the counts of keys. */
export async function differingTotals(sql: Sql): Promise<object[]> {
  return sql`
    SELECT account_id, day, kind, t.calls, t.credits, counted.calls AS "sumOfCalls", counted.credits AS "sumOfCredits"
    FROM (SELECT * FROM daily_counts WHERE key_id = '*' AND hour = -1) AS t FULL JOIN (
      SELECT account_id, day, kind, sum(calls) AS calls, sum(credits) AS credits FROM key_counts
      GROUP BY account_id, day, kind) AS counted USING (account_id, day, kind)
    WHERE (coalesce(t.calls, 0), coalesce(t.credits, 0)) IS DISTINCT FROM (coalesce(counted.calls, 0), coalesce(counted.credits, 0))`;
}
