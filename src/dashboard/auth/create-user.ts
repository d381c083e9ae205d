import { hashPassword } from 'better-auth/crypto';
import type { Sql } from '../../postgres/connect.ts';
import { acceptInvitation, invite } from './invitations.ts';

/**
 * Creates a user of an account without a link, for the demo.
 * @throws RefusedError for an unknown account, or an email of another account
 */
export async function createUser(
  sql: Sql,
  accountId: string,
  user: { name: string; email: string; password: string },
  actor: string,
): Promise<void> {
  const { token } = await invite(sql, { accountId, email: user.email }, actor);
  await acceptInvitation(sql, token, user.name, await hashPassword(user.password));
}
