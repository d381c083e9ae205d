import { READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import type { Call, Quota, SpentBudget } from './call.ts';

/** The credits that an account and its key can spend now; 0 for an account that is gone. @throws when Postgres is away */
export type ReadLeft = (caller: Caller) => Promise<number>;

type Caller = Pick<Call, 'accountId' | 'keyId'>;

interface Left {
  credits: number;
  /** Why these are 0, of the account if its key has none either. */
  reason: Quota | SpentBudget | null;
}

const LEFT = `
  SELECT coalesce(tightest.credits, 0)::bigint AS credits, reason
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (account_id, key_id, position)
    LEFT JOIN LATERAL (
      SELECT spendable AS credits, CASE spendable WHEN 0 THEN refusal_of(c) END AS reason
      FROM counters CROSS JOIN LATERAL counter_at(counters, now()) AS c CROSS JOIN LATERAL (
        SELECT greatest(included_of(c) - c.used, 0) + CASE WHEN c.spend_purchased THEN c.credits ELSE 0 END AS spendable) AS of
      WHERE counters.id IN (account_id, key_id) ORDER BY spendable, counters.id LIMIT 1) AS tightest ON true
  ORDER BY position`;

function leftOf(sql: Sql, callers: Caller[]) {
  const ids = [callers.map(({ accountId }) => accountId), callers.map(({ keyId }) => keyId)];
  return sql.unsafe<Left[]>(LEFT, ids, { prepare: true });
}

/** Callers of one turn of the event loop share a query. It locks nothing: a charge may find less. */
export const createLeft = (sql: Sql) =>
  createBatcher((callers: Caller[], bound) => bound(leftOf(sql, callers)), READS);

export function createLeftReader(sql: Sql): ReadLeft {
  const read = createLeft(sql);
  return async (caller) => (await read(caller)).credits;
}
