import { randomBytes } from 'node:crypto';
import { requireAccount } from '../../metering/accounts/account-store.ts';
import { type Actor, recordEvent } from '../../metering/accounts/events.ts';
import { lockForOwner } from '../../metering/accounts/rights.ts';
import { RefusedError } from '../../platform/errors.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { hashOfToken, newLinkToken } from '../auth/codes.ts';
import { MAILS, type Mail, type Reader } from '../auth/mail-text.ts';
import { actorOf, type Role } from '../auth/members.ts';
import type { Language } from '../ui/language.ts';

const VALID_DAYS = 7;

/** Members and pending invitations of an account, so that every list of them is short. */
const MAX_MEMBERS = 100;

/** An account has {@link MAX_MEMBERS} already. */
export class TooManyMembersError extends RefusedError {
  constructor(accountId: string) {
    super(
      `${accountId} has ${MAX_MEMBERS} members and pending invitations, which is the most: remove or withdraw one first`,
    );
  }
}

/** An invitation that was made, and its reader. */
export interface MadeInvitation {
  token: string;
  email: string;
  expires: Date;
  accountName: string;
  isSuspended: boolean;
  /** The account of the user with this email: this one, another one, or none yet. */
  place: 'here' | 'elsewhere' | null;
  /** Of the user's latest visit; `null` means that it is not known. */
  language: Language | null;
}

/**
 * Invites a user by a one-time link, in place of earlier ones. A new user chooses a password there, and a present member a new one,
 * which is the reset of a service without mail.
 *
 * @param invitation without a `role` a member keeps their own, and a new one is an owner. An owner stays one
 * @throws RefusedError for an unknown account, TooManyMembersError, and NotOwnerError if a member invites who is no owner
 */
export async function invite(
  sql: Sql,
  invitation: { accountId: string; email: string; role?: Role | undefined },
  actor: Actor,
): Promise<MadeInvitation> {
  const { accountId, role } = invitation;
  const email = invitation.email.toLowerCase();
  const token = newLinkToken();
  return sql.begin(async (sql) => {
    await lockForOwner(sql, accountId, actor);
    await sql`
      DELETE FROM dashboard_invitations
      WHERE account_id = ${accountId} AND email = ${email} AND used_at IS NULL`;
    await refuseTooMany(sql, accountId, email);
    const [row] = await sql<Omit<MadeInvitation, 'token' | 'email'>[]>`
      WITH reader AS (
        SELECT m.language, m.role, m.account_id FROM dashboard_users u JOIN dashboard_members m ON m.user_id = u."id"
        WHERE u."email" = ${email}),
      made AS (
        INSERT INTO dashboard_invitations (token_sha256, account_id, email, role, actor, expires_at)
        VALUES (${hashOfToken(token)}, ${accountId}, ${email},
          coalesce(${role ?? null}, (SELECT role FROM reader WHERE account_id = ${accountId}), 'owner'), ${actor},
          now() + ${VALID_DAYS} * interval '1 day')
        RETURNING expires_at)
      SELECT expires_at AS expires, a.name AS "accountName", a.suspended_at IS NOT NULL AS "isSuspended", language,
        CASE WHEN account_id = a.id THEN 'here' WHEN account_id IS NOT NULL THEN 'elsewhere' END AS place
      FROM made JOIN accounts a ON a.id = ${accountId} LEFT JOIN reader ON true`;
    await recordEvent(sql, accountId, { kind: 'member-invited', actor });
    return { token, email, ...row! };
  });
}

export const invitationLink = (publicUrl: string, token: string) =>
  `${publicUrl}/dashboard/invitation?token=${token}`;

/** An address takes one place, as a member and by its invitation. */
async function refuseTooMany(sql: Transaction, accountId: string, email: string): Promise<void> {
  const rows = await sql<{ others: number }[]>`
    SELECT count(*) AS others FROM (
      SELECT u."email" FROM dashboard_members m JOIN dashboard_users u ON u."id" = m.user_id WHERE m.account_id = ${accountId}
      UNION
      SELECT email FROM dashboard_invitations WHERE account_id = ${accountId} AND ${isPending(sql)}) AS places (email)
    WHERE email <> ${email}`;
  if (only(rows).others >= MAX_MEMBERS) throw new TooManyMembersError(accountId);
}

/**
 * The mail of an invitation.
 * @param publicUrl the service's own address
 * @param by the owner who invites, with a confirmed address; `null` for the operator
 */
export function invitationMail(
  { token, email, expires, accountName, isSuspended, place, language }: MadeInvitation,
  publicUrl: string,
  by: { email: string; language: Language } | null,
): [Mail, Reader] {
  const link = { url: invitationLink(publicUrl, token), expires };
  const mail =
    place === 'here'
      ? MAILS['new-password'](link)
      : MAILS.invitation({ ...link, inviter: by?.email ?? null, isElsewhere: place === 'elsewhere' });
  const account = { name: accountName, isSuspended };
  return [mail, { to: email, language: language ?? by?.language ?? null, account }];
}

/** An invitation as its page shows it. */
export interface FoundInvitation {
  email: string;
  accountName: string;
  /** Of the user with this email; `null` if there is none yet. */
  userName: string | null;
  /** Whether this user belongs to another account. Then nobody can accept the invitation. */
  isElsewhere: boolean;
}

/** The invitation of a token; `null` if it is unknown, used or too old. */
export async function findInvitation(sql: Sql, token: string): Promise<FoundInvitation | null> {
  const [row] = await sql<FoundInvitation[]>`
    SELECT i.email, a.name AS "accountName", u."name" AS "userName",
      coalesce(m.account_id <> i.account_id, false) AS "isElsewhere"
    FROM dashboard_invitations i JOIN accounts a ON a.id = i.account_id
    LEFT JOIN dashboard_users u ON u."email" = i.email
    LEFT JOIN dashboard_members m ON m.user_id = u."id"
    WHERE token_sha256 = ${hashOfToken(token)} AND used_at IS NULL AND now() < expires_at`;
  return row ?? null;
}

/**
 * Uses up a token: the user is a member afterwards. The password replaces a present one, confirms the email and ends all sessions.
 *
 * @param passwordHash better-auth's
 * @returns the user's email; `null` if the token is unknown, used or too old, or the user belongs to another account
 */
export async function acceptInvitation(
  sql: Sql,
  token: string,
  name: string,
  passwordHash: string,
): Promise<string | null> {
  return sql.begin(async (sql) => {
    // The account is locked first, as in its deletion, which removes the invitation.
    await sql`
      SELECT 1 FROM accounts WHERE id = (
        SELECT account_id FROM dashboard_invitations WHERE token_sha256 = ${hashOfToken(token)}) FOR SHARE`;
    const [row] = await sql<{ accountId: string; email: string; role: Role }[]>`
      SELECT account_id AS "accountId", email, role FROM dashboard_invitations
      WHERE token_sha256 = ${hashOfToken(token)} AND used_at IS NULL AND now() < expires_at FOR UPDATE`;
    if (row === undefined) return null;
    const { accountId, email, role } = row;
    // Locks the user, so that their own first request can't make an account meanwhile.
    const [user] = await sql<{ id: string }[]>`
      INSERT INTO dashboard_users ("id", "name", "email", "emailVerified")
      VALUES (${randomBytes(16).toString('hex')}, ${name}, ${email}, true)
      ON CONFLICT ("email") DO UPDATE SET "updatedAt" = now()
      RETURNING "id"`;
    const userId = user!.id;
    const [member] = await sql<{ isNew: boolean }[]>`
      INSERT INTO dashboard_members AS m (user_id, account_id, role)
      SELECT ${userId}, ${accountId}, ${role}
      WHERE NOT EXISTS (SELECT 1 FROM dashboard_members WHERE user_id = ${userId} AND account_id <> ${accountId})
      ON CONFLICT (user_id) DO UPDATE SET role = CASE ${role}::text WHEN 'owner' THEN 'owner' ELSE m.role END
      RETURNING old.user_id IS NULL AS "isNew"`;
    if (member === undefined) return null;
    await sql`UPDATE dashboard_invitations SET used_at = now() WHERE token_sha256 = ${hashOfToken(token)}`;
    await sql`UPDATE dashboard_users SET "emailVerified" = true WHERE "id" = ${userId}`;
    // That ends sessions and links from before (0004_dashboard.sql).
    await sql`
      INSERT INTO dashboard_credentials ("id", "accountId", "providerId", "userId", "password", "updatedAt")
      VALUES (${randomBytes(16).toString('hex')}, ${userId}, 'credential', ${userId}, ${passwordHash}, now())
      ON CONFLICT ("userId", "providerId") DO UPDATE SET "password" = excluded."password", "updatedAt" = now()`;
    const kind = member.isNew ? 'member-added' : 'password-changed';
    await recordEvent(sql, accountId, { kind, actor: actorOf({ id: userId }) });
    return email;
  });
}

/**
 * Creates a user of an account without a link, for the demo.
 * @throws RefusedError for an unknown account, or an email of another one
 */
export async function createUser(
  sql: Sql,
  accountId: string,
  user: { name: string; email: string; password: string },
  actor: string,
): Promise<void> {
  // Imported here, because most commands need no better-auth.
  const { hashPassword } = await import('better-auth/crypto');
  const { token } = await invite(sql, { accountId, email: user.email }, actor);
  const accepted = await acceptInvitation(sql, token, user.name, await hashPassword(user.password));
  if (accepted === null) throw new RefusedError(`${user.email} belongs to another account`);
}

/** SQL: an invitation's link still works. */
const isPending = (sql: Sql | Transaction) => sql`used_at IS NULL AND now() < expires_at`;

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
