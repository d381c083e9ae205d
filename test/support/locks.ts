import type { Sql } from '../../src/platform/postgres/connect.ts';
import { eventually } from './until.ts';

/** Takes the row lock of an account, or of a key, as an operator's open transaction would; resolves once it is held. */
export async function lockRow(
  sql: Sql,
  ownerId: string,
  table: 'balances' | 'accounts' | 'api_keys' | 'daily_counts' = 'balances',
): Promise<{ release(): Promise<void> }> {
  const { promise: released, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const transaction = sql.begin(async (sql) => {
    const id = ['accounts', 'api_keys'].includes(table) ? sql`id` : sql`account_id`;
    await sql`SELECT 1 FROM ${sql(table)} WHERE ${id} = ${ownerId} FOR UPDATE`;
    hold();
    await released;
  });
  await held;
  return {
    async release() {
      letGo();
      await transaction;
    },
  };
}

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
