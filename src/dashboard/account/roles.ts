import { type Actor, recordEvent } from '../../metering/accounts/events.ts';
import { lockForOwner } from '../../metering/accounts/rights.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { actorOf, endInvitations, listMembers, type Role } from '../auth/members.ts';

/**
 * Gives a member another role. Pending invitations to them end, because these say an earlier role. So do those by them, if they are
 * an owner no more.
 *
 * @returns `null` if there is no such member, `last` if they are the last owner
 * @throws NotOwnerError if a member makes the change who is no owner
 */
export async function changeRole(
  sql: Sql,
  accountId: string,
  { id, role }: { id: string; role: Role },
  actor: Actor,
): Promise<'changed' | 'last' | null> {
  return sql.begin(async (sql) => {
    await lockForOwner(sql, accountId, actor);
    const members = await listMembers(sql, accountId);
    const member = members.find((member) => member.id === id);
    if (member === undefined) return null;
    if (member.role === role) return 'changed';
    if (role === 'member' && !members.some((other) => other.id !== id && other.role === 'owner'))
      return 'last';
    await sql`UPDATE dashboard_members SET role = ${role} WHERE user_id = ${id}`;
    await endInvitations(sql, accountId, { to: member.email, by: actorOf(member) });
    await recordEvent(sql, accountId, { kind: 'role-changed', actor, detail: { role } });
    return 'changed';
  });
}

/** @throws NotOwnerError if a member makes the change who is no owner */
export async function renameAccount(sql: Sql, accountId: string, name: string, actor: Actor): Promise<void> {
  await sql.begin(async (sql) => {
    await lockForOwner(sql, accountId, actor);
    await sql`UPDATE accounts SET name = ${name} WHERE id = ${accountId}`;
    await recordEvent(sql, accountId, { kind: 'account-renamed', actor });
  });
}
