import type { Sql, Transaction } from '../../src/platform/postgres/connect.ts';
import { eventually } from './until.ts';

/** Holds what a transaction takes, such as a lock, until it is released; resolves once it is held. */
export async function hold(sql: Sql, take: (sql: Transaction) => Promise<unknown>) {
  const [taken, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = sql.begin(async (sql) => {
    await take(sql);
    taken.resolve();
    await over.promise;
  });
  await Promise.race([taken.promise, transaction]);
  return {
    async release() {
      over.resolve();
      await transaction;
    },
  };
}

/** Takes the row lock of an account, or of a key, as an operator's open transaction would; resolves once it is held. */
export const lockRow = (
  sql: Sql,
  ownerId: string,
  table: 'balances' | 'accounts' | 'api_keys' | 'daily_counts' = 'balances',
) =>
  hold(sql, (sql) => {
    const id = ['accounts', 'api_keys'].includes(table) ? sql`id` : sql`account_id`;
    return sql`SELECT 1 FROM ${sql(table)} WHERE ${id} = ${ownerId} FOR UPDATE`;
  });

/** Waits until so many statements wait for a lock in the database. */
export async function waitingForLock(sql: Sql, count: number): Promise<void> {
  await eventually(async () => {
    const [row] = await sql`SELECT count(*) AS waiting FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return row!.waiting;
  }, count);
}

/** Ends one wait for a lock as a "user request": the second form of a lock's timeout, which its first wait decides by chance. */
export async function cancelWaiting(sql: Sql): Promise<void> {
  await eventually(async () => {
    const rows = await sql`SELECT pg_cancel_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1`;
    return rows.length;
  }, 1);
}
