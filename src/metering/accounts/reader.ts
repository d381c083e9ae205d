import { READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { type AccountDetails, detailsOf, findAccountsQuery } from './account-store.ts';

/** Reads an account as it stands now by Postgres's clock. @throws when there is none, or Postgres is away */
export type ReadAccount = (id: string) => Promise<AccountDetails>;

export function createAccountReader(sql: Sql): ReadAccount {
  const read = createRowReader('account', (ids) => findAccountsQuery(sql, ids));
  return async (id) => detailsOf(await read(id));
}

/**
 * A reader that loads all rows asked for in one turn of the event loop by one query. It throws for a row that is gone.
 * @param load a query of the rows with these ids, in no order
 */
export function createRowReader<Row extends { id: string }>(
  what: string,
  load: (ids: string[]) => PromiseLike<Row[]>,
): (id: string) => Promise<Row> {
  const ask = createBatcher(
    async (ids: string[], bound) => {
      const rows = new Map((await bound(load([...new Set(ids)]))).map((row) => [row.id, row]));
      return ids.map((id) => rows.get(id) ?? null);
    },
    { ...READS, stage: 'usage' },
  );
  return async (id) => {
    const row = await ask(id);
    if (row === null) throw new Error(`the ${what} is gone`);
    return row;
  };
}
