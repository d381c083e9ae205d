import type { Transaction } from '../../platform/postgres/connect.ts';
import { lockAccount } from './account-store.ts';
import { type Actor, isMember } from './events.ts';

/** An owner who was removed, or is an owner no more, since their request began. */
export class NotOwnerError extends Error {}

/**
 * Locks the account for a change that only owners and operators make. A removal and a change of role take the same lock. So an owner
 * makes no change after their own removal.
 *
 * @throws NotOwnerError if a member makes the change who is no owner
 * @throws RefusedError for an unknown account
 */
export async function lockForOwner(sql: Transaction, accountId: string, actor: Actor): Promise<void> {
  await lockAccount(sql, accountId);
  if (!isMember(actor)) return;
  const owners = await sql`
    SELECT 1 FROM account_members
    WHERE account_id = ${accountId} AND role = 'owner' AND ${actor} = 'dashboard:' || user_id`;
  if (owners.length === 0) throw new NotOwnerError('the change wants an owner of the account');
}
