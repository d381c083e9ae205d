import { createBatcher } from '../batch.ts';
import { within } from '../deadline.ts';
import type { Sql } from '../postgres/connect.ts';
import { SECOND } from '../units.ts';
import { type AccountDetails, detailsOf, findAccountsQuery } from './store.ts';

/** Reads an account as it stands now by Postgres's clock. @throws when there is none, or Postgres is away */
export type ReadAccount = (id: string) => Promise<AccountDetails>;

const QUERY_TIMEOUT_MS = 2 * SECOND;
/** Two at a time, so that a connection that is gone without a word doesn't hold up everybody. */
const BATCHES = {
  maxBatch: 500,
  maxRuns: 2,
  maxWaiting: 20_000,
  timeoutMs: QUERY_TIMEOUT_MS,
  what: 'Postgres',
};

/**
 * A reader whose questions of one turn of the event loop share one query.
 * @param instant for tests: the instant to read at; absent: Postgres's clock
 */
export function createAccountReader(sql: Sql, instant?: () => Date): ReadAccount {
  const ask = createBatcher(async (ids: string[]) => {
    const query = findAccountsQuery(sql, [...new Set(ids)], instant?.());
    const rows = await within(query, QUERY_TIMEOUT_MS, 'Postgres');
    const accounts = new Map(rows.map((row) => [row.id, detailsOf(row)]));
    return ids.map((id) => accounts.get(id) ?? null);
  }, BATCHES);

  return async (id) => {
    const account = await ask(id);
    if (account === null) throw new Error('the account is gone');
    return account;
  };
}
