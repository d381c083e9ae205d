import type { Sql } from '../../platform/postgres/connect.ts';

/** The day of the last admitted call of each of these keys, YYYY-MM-DD; a key that was never used has no entry. */
export async function loadLastUsed(
  sql: Sql,
  accountId: string,
  keyIds: string[],
): Promise<Map<string, string>> {
  const rows = await sql<{ key_id: string; day: string }[]>`
    SELECT key_id, max(day)::text AS day FROM calls_by_day
    WHERE account_id = ${accountId} AND key_id = ANY (${keyIds}::text[]) GROUP BY key_id`;
  return new Map(rows.map(({ key_id, day }) => [key_id, day]));
}
