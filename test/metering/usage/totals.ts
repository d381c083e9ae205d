import type { Sql } from '../../../src/platform/postgres/connect.ts';

/** Rows of `daily_totals` that are not the sums of the counts of keys. */
export async function differingTotals(sql: Sql): Promise<object[]> {
  return sql`
    SELECT account_id, day, kind, t.calls, t.credits, counted.calls AS "sumOfCalls", counted.credits AS "sumOfCredits"
    FROM daily_totals t FULL JOIN (
      SELECT account_id, day, kind, sum(calls) AS calls, sum(credits) AS credits FROM (
        SELECT account_id, day, kind, calls, 0 AS credits FROM daily_calls
        UNION ALL
        SELECT account_id, day, kind, calls, credits FROM daily_error_answers) AS rows
      GROUP BY account_id, day, kind) AS counted USING (account_id, day, kind)
    WHERE (coalesce(t.calls, 0), coalesce(t.credits, 0)) IS DISTINCT FROM (coalesce(counted.calls, 0), coalesce(counted.credits, 0))`;
}
