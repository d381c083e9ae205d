import { READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { type AccountDetails, detailsOf, findAccountsQuery } from './account-store.ts';

/** Reads an account as it stands now by Postgres's clock. @throws when there is none, or Postgres is away */
export type ReadAccount = (id: string) => Promise<AccountDetails>;

/**
 * A reader that loads all accounts asked for in one turn of the event loop by one query.
 * @param instant the instant to read at, for tests; by default Postgres's clock
 */
export function createAccountReader(sql: Sql, instant?: () => Date): ReadAccount {
  const ask = createBatcher(
    async (ids: string[], bound) => {
      const rows = await bound(findAccountsQuery(sql, [...new Set(ids)], instant?.()));
      const accounts = new Map(rows.map((row) => [row.id, detailsOf(row)]));
      return ids.map((id) => accounts.get(id) ?? null);
    },
    { ...READS, stage: 'usage' },
  );

  return async (id) => {
    const account = await ask(id);
    if (account === null) throw new Error('the account is gone');
    return account;
  };
}
