import type { Sql } from '../../postgres/connect.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import { SECOND } from '../../units.ts';

/** Days that the plot, the table and the CSV reach back, today included. */
export const PLOTTED_DAYS = 90;
const QUERY_TIMEOUT_MS = 3 * SECOND;

/** Admitted calls of one UTC day by one key. */
export interface DailyCalls {
  /** YYYY-MM-DD */
  day: string;
  /** null: made in the dashboard. */
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
  /** Oldest first; a day and key without calls has no row. */
  rows: DailyCalls[];
}

/** The account's calls of the last {@link PLOTTED_DAYS} days, as the admissions counted them. */
export async function loadDailyCalls(sql: Sql, accountId: string): Promise<DailyHistory> {
  const query = sql<(DailyCalls & { today: string })[]>`
    SELECT today::text, d.day::text, nullif(d.key_id, '') AS "keyId",
      coalesce(k.name, '') AS "keyName", coalesce(k.start, '') AS "keyStart",
      coalesce(sum(d.calls) FILTER (WHERE d.kind = 'search'), 0)::bigint AS searches,
      coalesce(sum(d.calls) FILTER (WHERE d.kind = 'lookup'), 0)::bigint AS lookups
    FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS clock
    LEFT JOIN calls_by_day d ON d.account_id = ${accountId}
      AND d.day > today - ${PLOTTED_DAYS}::integer AND d.day <= today
    LEFT JOIN api_keys k ON k.id = d.key_id AND k.account_id = d.account_id
    GROUP BY today, d.day, d.key_id, k.name, k.start, k.created_at
    ORDER BY d.day, k.created_at, d.key_id`;
  const rows = await withTimeout(query, QUERY_TIMEOUT_MS, 'Postgres');
  return {
    today: rows[0]!.today,
    rows: rows.filter((row) => row.day !== null).map(({ today: _, ...row }) => row),
  };
}

/** The day of each key's last admitted call, YYYY-MM-DD; a key that was never used has no entry. */
export async function loadLastUsed(sql: Sql, accountId: string): Promise<Map<string, string>> {
  const rows = await sql<{ key_id: string; day: string }[]>`
    SELECT key_id, max(day)::text AS day FROM calls_by_day
    WHERE account_id = ${accountId} AND key_id <> '' GROUP BY key_id`;
  return new Map(rows.map(({ key_id, day }) => [key_id, day]));
}
