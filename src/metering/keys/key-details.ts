import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { type ApiKey, keyColumns, unknownKey } from './key-store.ts';

/** The days whose calls and errors count, today among them. */
export const DAYS = 30;

/** A secret that opens a key, or has done so before. */
export interface KeySecret {
  /** The end of a replaced secret; `null` for the current one. */
  until: Date | null;
  /** To the minute; `null` means never, or not since this time was first kept. */
  lastUsed: Date | null;
}

/** The current secret of a key first, then replaced ones that are not forgotten yet, the latest first. */
export async function secretsOf(sql: Sql, id: string): Promise<KeySecret[]> {
  return sql<KeySecret[]>`
    SELECT secret.until, used_at AS "lastUsed" FROM (
      SELECT secret_sha256, NULL::timestamptz AS until FROM api_keys WHERE id = ${id}
      UNION ALL
      SELECT secret_sha256, until FROM api_key_previous_secrets WHERE key_id = ${id}
    ) AS secret LEFT JOIN api_key_uses USING (secret_sha256)
    ORDER BY until DESC NULLS FIRST`;
}

/**
 * A key with its use in the last {@link DAYS} days (UTC), for an operator (docs/commands.md).
 *
 * @returns beside the key its calls by kind, its error answers by kind without those that it had none of, and the credits that these cost.
 * `401` are calls after the end of the key or of one of its secrets
 * @throws RefusedError for an unknown key
 */
export async function requireKeyDetails(sql: Sql, id: string) {
  const [key] = await sql<(ApiKey & { account: string })[]>`
    SELECT ${keyColumns(sql)}, account_id AS account FROM api_keys WHERE id = ${id}`;
  if (key === undefined) throw unknownKey(id);
  const since = sql`(now() AT TIME ZONE 'UTC')::date - ${DAYS - 1}::integer`;
  const [counts, secrets] = await Promise.all([
    sql<{ kind: CallKind | ErrorKind; calls: number; cost: number }[]>`
      SELECT kind, sum(calls)::bigint AS calls, sum(cost)::bigint AS cost FROM (
        SELECT kind, calls, 0 AS cost FROM calls_by_day
        WHERE account_id = ${key.account} AND key_id = ${id} AND day >= ${since}
        UNION ALL
        SELECT kind, calls, credits FROM key_counts
        WHERE account_id = ${key.account} AND key_id = ${id} AND day >= ${since} AND is_error
      ) AS counted GROUP BY kind ORDER BY kind`,
    secretsOf(sql, id),
  ]);
  const callsOf = (kinds: readonly string[]) =>
    Object.fromEntries(counts.flatMap(({ kind, calls }) => (kinds.includes(kind) ? [[kind, calls]] : [])));
  const none = Object.fromEntries(CALL_KINDS.map((kind) => [kind, 0])) as Record<CallKind, number>;
  const errorCredits = counts.reduce((sum, { cost }) => sum + cost, 0);
  const calls = { ...none, ...callsOf(CALL_KINDS) };
  return { ...key, calls, errors: callsOf(ERROR_KINDS), errorCredits, secrets };
}
