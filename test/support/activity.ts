import { writeActivity } from '../../src/metering/credits/activity.ts';
import type { RowsQuery } from '../../src/platform/postgres/batches.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';

interface StoredCalls {
  accountId: string;
  kind?: 'charge' | 'return' | 'answer';
  rows: number;
  key?: string | RowsQuery;
  endpoint?: string;
  credits?: number;
  problem?: string | null;
  at?: Date;
  /** SQL for the number before the first row's. */
  taken?: RowsQuery;
}

/** Writes rows of an account's activity as the service does, in one part. In SQL, `n` counts them. */
export async function storeActivity(sql: Sql, calls: StoredCalls): Promise<void> {
  const { accountId, kind = 'charge', rows, key = 'key', endpoint = 'GET /companies' } = calls;
  const { credits = 1, problem = null, at = new Date() } = calls;
  const taken = calls.taken ?? sql`take_activity_numbers(${rows})`;
  await sql`SELECT make_activity_days()`;
  await sql`
    WITH numbers AS MATERIALIZED (SELECT ${taken} AS taken)
    ${writeActivity(
      sql,
      kind,
      sql`
        SELECT ${accountId}::text AS account_id, ${at}::timestamptz AS at, gen_random_uuid() AS call_id, NULL AS request_id,
          ${key} AS key_id, ${endpoint} AS endpoint, CASE WHEN ${problem}::text IS NOT NULL THEN 429::smallint END AS status,
          ${problem}::text AS problem, ${credits}::bigint AS credits, NULL::bigint AS unlisted, NULL::text AS reason
        FROM generate_series(1, ${rows}::integer) AS n`,
    )}`;
}
