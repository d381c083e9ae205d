import { COMPANIES_DATA } from '../../companies/lookup/account-data.ts';
import type { AccountData } from '../../metering/account-data/account-data.ts';
import { lockForDeletion, METERING_DATA, markDeleted } from '../../metering/account-data/metering-data.ts';
import type { Actor } from '../../metering/accounts/events.ts';
import { removeInParts } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { DASHBOARD_DATA } from './dashboard-data.ts';

/** All that is stored of accounts, by wing, in the order of the lists of an export. */
export const WINGS: readonly AccountData[] = [DASHBOARD_DATA, METERING_DATA, COMPANIES_DATA];

/** Removes the rows of every wing that have expired, in parts. */
export async function removeExpired(sql: Sql): Promise<void> {
  for (const wing of WINGS) {
    const expired = Object.entries(wing.expired?.(sql) ?? {});
    for (const [table, condition] of expired) await removeInParts(sql, table, condition);
  }
}

/**
 * Deletes an account: revokes its keys and removes its members with their sessions, its invitations and all names. Its ledger
 * of grants, calls and changes stays, with `member` in place of each member. Repeating it keeps the first date.
 *
 * An account can have very many rows that no longer mean anything. They are removed in parts before the transaction. If the process
 * dies in between, the account still works, and can be deleted again.
 *
 * @returns when it was deleted
 * @throws NotOwnerError if a member deletes it who is no owner
 * @throws RefusedError for an unknown account
 */
export async function deleteAccount(sql: Sql, id: string, actor: Actor): Promise<Date> {
  for (const wing of WINGS) await wing.removeInParts?.(sql, id);
  return sql.begin(async (sql) => {
    const deletedBefore = await lockForDeletion(sql, id, actor);
    if (deletedBefore !== null) return deletedBefore;
    for (const wing of WINGS) await wing.remove(sql, id);
    return markDeleted(sql, id, actor);
  });
}
