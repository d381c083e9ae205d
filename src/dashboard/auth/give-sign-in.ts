import { hashPassword } from 'better-auth/crypto';
import type { Sql } from '../../postgres/connect.ts';
import { acceptInvitation, invite } from './invitations.ts';

/**
 * Makes a user of an account without a link to open: what `demo` signs in with.
 * @throws RefusedError for an unknown account, or an email that is another account's
 */
export async function giveSignIn(
  sql: Sql,
  accountId: string,
  user: { name: string; email: string; password: string },
  actor: string,
): Promise<void> {
  const { token } = await invite(sql, { accountId, email: user.email }, actor);
  await acceptInvitation(sql, token, user.name, await hashPassword(user.password));
}
