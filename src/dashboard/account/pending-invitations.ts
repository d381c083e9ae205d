import { type Actor, recordEvent } from '../../metering/accounts/events.ts';
import { lockForOwner } from '../../metering/accounts/rights.ts';
import { requireAccount } from '../../metering/accounts/store.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import type { Role } from '../auth/members.ts';

/** SQL: an invitation's link still works. */
export const isPending = (sql: Sql | Transaction) => sql`used_at IS NULL AND now() < expires_at`;

/** An invitation that nobody has accepted yet. */
export interface PendingInvitation {
  email: string;
  role: Role;
  /** The author, e.g. `cli:maria`. */
  actor: string;
  created: Date;
  expires: Date;
}

/** The account's pending invitations, oldest first. @throws RefusedError for an unknown account */
export async function listInvitations(sql: Sql, accountId: string): Promise<PendingInvitation[]> {
  await requireAccount(sql, accountId);
  return sql<PendingInvitation[]>`
    SELECT email, role, actor, created_at AS created, expires_at AS expires FROM dashboard_invitations
    WHERE account_id = ${accountId} AND ${isPending(sql)} ORDER BY created_at, email`;
}

/** Withdraws every pending invitation of an email: their links are dead. @returns whether there was one */
export async function withdrawInvitation(
  sql: Sql,
  { accountId, email }: { accountId: string; email: string },
  actor: Actor,
): Promise<boolean> {
  return sql.begin(async (sql) => {
    await lockForOwner(sql, accountId, actor);
    const rows = await sql`
      DELETE FROM dashboard_invitations WHERE account_id = ${accountId} AND email = ${email} AND ${isPending(sql)}
      RETURNING 1`;
    if (rows.length > 0) await recordEvent(sql, accountId, { kind: 'invitation-withdrawn', actor });
    return rows.length > 0;
  });
}
