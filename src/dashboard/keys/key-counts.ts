import { ERROR_KINDS } from '../../http/error-kind.ts';
import type { Sql } from '../../platform/postgres/connect.ts';

/** The use of a key today and on the six days before (UTC). */
export interface KeyCounts {
  /** Credits that it has spent. */
  credits: number;
  /** Requests and items that were refused, at no cost. */
  refused: number;
}

export const NO_COUNTS: KeyCounts = { credits: 0, refused: 0 };

const DAYS = 7;
/** Error answers that are no refusals. */
const OTHERS = ['4xx', '5xx'];

/** The counts of some keys by id; a key without any has no entry. Rows of other keys are not read, because an account can have very many. */
export async function readKeyCounts(
  sql: Sql,
  accountId: string,
  keys: { id: string }[],
): Promise<Map<string, KeyCounts>> {
  const ids = keys.map(({ id }) => id);
  const first = sql`((now() AT TIME ZONE 'UTC')::date - ${DAYS - 1}::integer)`;
  const refusals = ERROR_KINDS.filter((kind) => !OTHERS.includes(kind));
  const rows = await sql<(KeyCounts & { id: string })[]>`
    WITH wanted AS (
      SELECT id, ${first} + day AS day FROM unnest(${ids}::text[]) AS id, generate_series(0, ${DAYS - 1}::integer) AS day)
    SELECT id, sum(credits)::bigint AS credits, sum(refused)::bigint AS refused FROM (
      SELECT id, CASE WHEN is_error THEN 0 ELSE calls END AS credits,
        CASE WHEN kind = ANY (${refusals}::text[]) THEN calls ELSE 0 END AS refused
      FROM wanted JOIN key_counts d ON d.account_id = ${accountId} AND d.day = wanted.day AND d.key_id = id
      UNION ALL
      SELECT key_id, calls, 0 FROM journal_counts
      WHERE account_id = ${accountId} AND day >= ${first} AND key_id = ANY (${ids}::text[])
    ) AS counts GROUP BY id`;
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}
