import { changeLimits } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import type { Account, Action } from './history.ts';

/** Does in Postgres what an operator does in a plain history. */
export function operateInPostgres(sql: Sql, { id, keys }: Account, action: Action): Promise<unknown> {
  if (action.kind === 'grant') return grantCredits(sql, id, { credits: action.credits }, 'test');
  if (action.kind === 'included') return changeLimits(sql, id, { includedCredits: action.included }, 'test');
  if (action.kind === 'spending')
    return changeLimits(sql, id, { spendPurchased: action.spendsPurchased }, 'test');
  if (action.kind === 'period')
    return Promise.resolve(sql`UPDATE counters SET period_end = '2026-01-01' WHERE id = ${id}`);
  if (action.kind === 'budget') {
    const { id, budget } = keys[action.key]!;
    return limitKey(sql, id, { budget: { ...budget!, credits: action.credits! } }, 'test');
  }
  throw new Error(`no plain history has an action ${action.kind}`);
}
