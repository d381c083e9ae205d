import { only } from '../../platform/postgres/answer.ts';
import { isLockTimeout, type Sql, type Transaction } from '../../platform/postgres/connect.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';

/** A locked account is tried again after this pause. */
const RETRY_AFTER_MS = SECOND;

/** Waits for the lock that a charge of the account takes. */
export const lockBalance = (sql: Sql | Transaction, accountId: string) =>
  sql`SELECT FROM counters WHERE id = ${accountId} FOR NO KEY UPDATE`;

/** Finds the accounts that another transaction has locked at the moment, or that don't exist. */
export function findLocked(sql: Sql, accountIds: string[]) {
  return sql<{ id: string }[]>`
    WITH free AS (
      SELECT id FROM counters WHERE id = ANY (${accountIds}::text[]) FOR NO KEY UPDATE SKIP LOCKED
    )
    SELECT DISTINCT id FROM unnest(${accountIds}::text[]) AS id WHERE id NOT IN (SELECT id FROM free)`;
}

/**
 * Passes over accounts whose balance another transaction has locked, for example an operator's. A statement that has waited in
 * vain for such a lock runs again without them, and later ones don't wait at all. One loop tries them in turn beside the
 * statements, until it can lock them.
 *
 * @param sql its `lockTimeoutMs` bounds each wait
 */
export function createLockedAccounts(sql: Sql) {
  const locked = new Set<string>();

  /** Runs as long as there are some. */
  async function retry(): Promise<void> {
    while (locked.size > 0) {
      for (const id of locked) {
        const isLocked = await lockBalance(sql, id).then(() => false, isLockTimeout);
        // After any other failure the next statement finds out again.
        if (!isLocked) locked.delete(id);
      }
      if (locked.size > 0) await Bun.sleep(RETRY_AFTER_MS);
    }
  }

  /**
   * Runs a statement that answers one row for those of the items whose account is free.
   * @returns these items, and the row; no row if there are no such items
   * @throws an error if the statement answers no row, because then its outcome is unknown
   */
  return async function runForUnlocked<Item extends { accountId: string }, Row>(
    items: Item[],
    bound: Bound,
    run: (free: Item[]) => PromiseLike<Row[]>,
  ): Promise<[Item[], Row[]]> {
    const free = items.filter(({ accountId }) => !locked.has(accountId));
    if (free.length === 0) return [free, []];
    try {
      return [free, [only(await bound(run(free)))]];
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      const accountIds = free.map(({ accountId }) => accountId);
      const found = await bound(findLocked(sql, accountIds));
      const isRetrying = locked.size > 0;
      for (const { id } of found) locked.add(id);
      if (!isRetrying) void retry();
      return runForUnlocked(free, bound, run);
    }
  };
}
