import type { Sql } from '../../postgres/connect.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import { DAY, SECOND } from '../../units.ts';

/** Days whose calls tell how fast an account spends. */
const PACE_DAYS = 7;
const QUERY_TIMEOUT_MS = 3 * SECOND;

/** An account's calls a day over the last seven days; over fewer if its first call of them was later, but at least one. */
export async function loadCallsPerDay(sql: Sql, accountId: string): Promise<number> {
  const query = sql<{ perDay: number }[]>`
    SELECT coalesce(sum(calls) / greatest(1, extract(epoch FROM now() - min(day)::timestamp AT TIME ZONE 'UTC') / 86400), 0)::float8
      AS "perDay"
    FROM calls_by_day WHERE account_id = ${accountId} AND day > (now() AT TIME ZONE 'UTC')::date - ${PACE_DAYS}::integer`;
  const [row] = await withTimeout(query, QUERY_TIMEOUT_MS, 'Postgres');
  return row!.perDay;
}

/**
 * When the available credits are spent at this pace.
 * @returns `'enough'` if credits last until the period ends; `null` if none are being spent
 */
export function runsOutAt(
  available: number,
  perDay: number,
  { now, periodEnd }: { now: Date; periodEnd: Date },
): Date | 'enough' | null {
  if (perDay <= 0) return null;
  const at = new Date(now.getTime() + (available / perDay) * DAY);
  return at < periodEnd ? at : 'enough';
}
