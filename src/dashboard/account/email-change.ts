import { recordEvent } from '../../metering/accounts/events.ts';
import { codeOf } from '../../platform/errors.ts';
import { type Sql, UNIQUE_VIOLATION } from '../../platform/postgres/connect.ts';
import { HOUR, SECOND } from '../../platform/units.ts';
import { hashOfToken, newLinkToken } from '../auth/link-token.ts';
import { actorOf } from '../auth/members.ts';

const LIFE_MS = 1 * HOUR;

/** Keeps a new email, in place of an earlier one, until a link confirms it or the user has a new password (0004_dashboard.sql). */
export async function askEmailChange(sql: Sql, userId: string, email: string): Promise<string> {
  const token = newLinkToken();
  await sql`
    INSERT INTO dashboard_email_changes (user_id, email, token_sha256, expires_at)
    VALUES (${userId}, ${email.toLowerCase()}, ${hashOfToken(token)}, now() + ${LIFE_MS / SECOND} * interval '1 second')
    ON CONFLICT (user_id) DO UPDATE SET
      email = excluded.email, token_sha256 = excluded.token_sha256, expires_at = excluded.expires_at`;
  return token;
}

/** The new email that a link confirms; `null` if the link is unknown, used or too old. */
export async function findEmailChange(sql: Sql, token: string): Promise<string | null> {
  const [row] = await sql<{ email: string }[]>`
    SELECT email FROM dashboard_email_changes WHERE token_sha256 = ${hashOfToken(token)} AND now() < expires_at`;
  return row?.email ?? null;
}

/**
 * Makes the new email the user's, and confirmed. Links and invitations that were sent to the previous one are dead.
 *
 * @returns the user with their previous email; `null` if the link is unknown, used or too old, or another user has the new email
 */
export async function confirmEmailChange(sql: Sql, token: string) {
  const confirm = sql.begin(async (sql) => {
    // The account's lock comes first, as in its deletion.
    const [account] = await sql<{ id: string }[]>`
      SELECT a.id FROM accounts a WHERE a.deleted_at IS NULL AND a.id = (
        SELECT m.account_id FROM dashboard_email_changes c JOIN dashboard_members m ON m.user_id = c.user_id
        WHERE c.token_sha256 = ${hashOfToken(token)})
      FOR SHARE`;
    const [change] = await sql<{ userId: string; email: string }[]>`
      DELETE FROM dashboard_email_changes WHERE token_sha256 = ${hashOfToken(token)} AND now() < expires_at
      RETURNING user_id AS "userId", email`;
    if (account === undefined || change === undefined) return null;
    const { userId, email } = change;
    const [user] = await sql<{ previous: string }[]>`
      UPDATE dashboard_users SET "email" = ${email}, "emailVerified" = true, "updatedAt" = now()
      WHERE "id" = ${userId} RETURNING old."email" AS previous`;
    const { previous } = user!;
    await sql`DELETE FROM dashboard_verifications WHERE "value" = ${userId}`;
    await sql`DELETE FROM dashboard_invitations WHERE email = ${previous} AND used_at IS NULL`;
    await recordEvent(sql, account.id, { kind: 'email-changed', actor: actorOf({ id: userId }) });
    return { userId, accountId: account.id, previous };
  });
  return confirm.catch((error) => {
    if (codeOf(error) === UNIQUE_VIOLATION) return null;
    throw error;
  });
}
