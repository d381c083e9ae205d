import { READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { periodAt } from '../accounts/plan.ts';
import { spentOfBudget } from '../keys/limits.ts';
import type { Call } from './call.ts';
import { includedCredits } from './charge-sql.ts';

/** The credits that an account and its key can spend now; 0 for an account that is gone. @throws when Postgres is away */
export type ReadLeft = (caller: Pick<Call, 'accountId' | 'keyId'>) => Promise<number>;

const LEFT = `
  SELECT coalesce(least(account.credits, budget.credits), 0)::bigint AS credits
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (account_id, key_id, position)
    LEFT JOIN LATERAL (
      SELECT greatest(${includedCredits('(period).plan')} - CASE WHEN now() < b.period_end THEN b.used ELSE 0 END, 0)
        + CASE WHEN b.spend_purchased THEN b.credits ELSE 0 END AS credits
      FROM balances b, LATERAL (SELECT ${periodAt('now()')} AS period OFFSET 0) AS current
      WHERE b.account_id = asked.account_id) AS account ON true
    LEFT JOIN LATERAL (
      SELECT greatest(credits - ${spentOfBudget('now()')}, 0) AS credits
      FROM key_budgets WHERE key_id = asked.key_id AND credits IS NOT NULL) AS budget ON true
  ORDER BY position`;

/** Callers of one turn of the event loop share a query. It locks nothing: a charge may find less. */
export function createLeftReader(sql: Sql): ReadLeft {
  return createBatcher(async (callers: Parameters<ReadLeft>[0][], bound) => {
    const ids = [callers.map(({ accountId }) => accountId), callers.map(({ keyId }) => keyId)];
    const rows = await bound(sql.unsafe<{ credits: number }[]>(LEFT, ids, { prepare: true }));
    return rows.map(({ credits }) => credits);
  }, READS);
}
