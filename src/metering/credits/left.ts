import { READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import type { Owner, Shortage } from './call.ts';
import { leftOf, PLAN } from './charge-batch.ts';

/** The credits that an account and its key can spend now; 0 for an account that is gone. @throws when Postgres is away */
export type ReadLeft = (caller: Owner) => Promise<number>;

interface Left {
  credits: number;
  /** Why these are 0, of the account if its key has none either. */
  reason: Shortage | null;
}

/** A counter whose window is over costs a call of `counter_at`, and an empty one a call of `refusal_of`. */
const LEFT = `
  WITH ${PLAN}
  SELECT coalesce(tightest.credits, 0)::bigint AS credits, reason
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (account_id, key_id, position)
    LEFT JOIN LATERAL (
      SELECT spendable AS credits, CASE spendable WHEN 0 THEN refusal_of(c) END AS reason
      FROM plan, counters, LATERAL (
        SELECT CASE WHEN now() < window_end(counters) THEN counters ELSE counter_at(counters, now()) END AS c) AS window_now,
        LATERAL (SELECT ${leftOf('(c)')} AS spendable OFFSET 0) AS of
      WHERE id IN (account_id, key_id) ORDER BY spendable, id LIMIT 1) AS tightest ON true
  ORDER BY position`;

function readLeft(sql: Sql, callers: Owner[]) {
  const ids = [callers.map(({ accountId }) => accountId), callers.map(({ keyId }) => keyId)];
  return sql.unsafe<Left[]>(LEFT, ids, { prepare: true });
}

/** Callers of one turn of the event loop share a query. It locks nothing: a charge may find less. */
export const createLeft = (sql: Sql) =>
  createBatcher((callers: Owner[], bound) => bound(readLeft(sql, callers)), READS);
