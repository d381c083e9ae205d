import { only } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { DAY } from '../../platform/units.ts';
import { recordSignIn } from './members.ts';

/** A session ends this long after it began, even if it is in use (ASVS 3.3.2). */
export const SESSION_MAX_MS = 30 * DAY;

/** The user that has an email, before their password is checked. */
export interface EmailOwner {
  userId: string;
  /** In lower case. */
  email: string;
  /** Their account; `null` for a user without one yet. */
  accountId: string | null;
  passwordHash: string | null;
  /** Whether a link to the email was opened. */
  isConfirmed: boolean;
}

/** @returns `null` if no user has this email, or this id */
export async function findOwner(
  sql: Sql,
  by: { email: string } | { userId: string },
): Promise<EmailOwner | null> {
  const isMeant = 'email' in by ? sql`u."email" = ${by.email.toLowerCase()}` : sql`u."id" = ${by.userId}`;
  const [row] = await sql<EmailOwner[]>`
    SELECT u."id" AS "userId", u."email", m.account_id AS "accountId", c."password" AS "passwordHash", u."emailVerified" AS "isConfirmed"
    FROM dashboard_users u
    LEFT JOIN dashboard_members m ON m.user_id = u."id"
    LEFT JOIN dashboard_credentials c ON c."userId" = u."id" AND c."providerId" = 'credential'
    WHERE ${isMeant}`;
  return row ?? null;
}

/** Sessions of one user. A further sign-in ends the oldest. */
const MAX_SESSIONS = 50;

/**
 * Ends a new session unless the password that opened it is still the user's. Checking a password takes 60 to 100 ms, and a reset
 * in that time ends all sessions, but not this later one. The row lock waits for a reset that is not committed yet. The trigger
 * of 0004_dashboard.sql ends sessions that began before the reset wrote the password. So it is with a second factor that is turned on
 * in that time. A session that stays is a sign-in.
 *
 * @param token `null` means that no session was opened, because the password awaits a code
 * @param hasCode whether a code of the second factor was given
 * @returns whether the session, or the password, is good
 */
export async function keepSession(
  sql: Sql,
  token: string | null,
  member: EmailOwner,
  hasCode = false,
): Promise<boolean> {
  const rows = await sql<{ isCurrent: boolean }[]>`
    WITH current AS (
      SELECT 1 FROM dashboard_users u JOIN dashboard_credentials c ON c."userId" = u."id"
      WHERE u."id" = ${member.userId} AND c."password" = ${member.passwordHash}
        AND (${token === null || hasCode} OR NOT u."twoFactorEnabled") FOR SHARE),
    ended AS (DELETE FROM dashboard_sessions WHERE "token" = ${token} AND NOT EXISTS (SELECT 1 FROM current))
    SELECT EXISTS (SELECT 1 FROM current) AS "isCurrent"`;
  if (!only(rows).isCurrent) return false;
  if (token !== null) await recordSignIn(sql, member.userId);
  await sql`
    DELETE FROM dashboard_sessions WHERE "id" IN (
      SELECT "id" FROM dashboard_sessions WHERE "userId" = ${member.userId}
      ORDER BY "createdAt" DESC, "id" OFFSET ${MAX_SESSIONS})`;
  return true;
}
