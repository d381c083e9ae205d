import { createAccountIn, lockAccount } from '../../metering/accounts/account-store.ts';
import { type Actor, isClient, isMember, recordEvent } from '../../metering/accounts/events.ts';
import { lockForOwner } from '../../metering/accounts/rights.ts';
import { lockConnections } from '../../metering/connections/connection-store.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import type { MemberContext, PageContext, User } from '../context.ts';
import type { Language } from '../ui/language.ts';
import { changesOf, countAttempt } from './limits.ts';

/** An owner invites and removes members, changes roles, and renames and deletes the account. All else is open to members. */
export type Role = 'owner' | 'member';

/** The actor of a user's changes in the ledger. */
export function actorOf(user: Pick<User, 'id'>): Actor {
  return `dashboard:${user.id}`;
}

/** The account of a user. The first request after a sign-up makes a Free one. The language is kept for mails that answer no request. */
export async function accountOf(sql: Sql, user: User, language: Language): Promise<Membership> {
  const member = await memberOf(sql, user.id);
  if (member !== null) {
    if (member.language !== language) {
      await sql`UPDATE dashboard_members SET language = ${language} WHERE user_id = ${user.id}`;
    }
    return member;
  }
  return sql.begin(async (sql) => {
    // The lock lets two first requests of a user make one account.
    await sql`SELECT 1 FROM dashboard_users WHERE "id" = ${user.id} FOR UPDATE`;
    const made = await memberOf(sql, user.id);
    if (made !== null) return made;
    const { id } = await createAccountIn(sql, { name: user.name, plan: 'free' }, actorOf(user));
    await sql`
      INSERT INTO dashboard_members (user_id, account_id, language, signed_in_at)
      VALUES (${user.id}, ${id}, ${language}, now())`;
    return (await memberOf(sql, user.id))!;
  });
}

/** A user's place in an account, and their choices. */
export interface Membership {
  accountId: string;
  role: Role;
  /** Whether they get a mail when the allowance is nearly used, and when it is used. */
  usageAlerts: boolean;
  /** Of their latest request, for mails that answer none. */
  language: Language | null;
}

/** A user's place in their account; `null` for a user without an account yet. */
export async function memberOf(sql: Sql | Transaction, userId: string): Promise<Membership | null> {
  const [member] = await sql<Membership[]>`
    SELECT account_id AS "accountId", role, usage_alerts AS "usageAlerts", language FROM dashboard_members
    WHERE user_id = ${userId}`;
  return member ?? null;
}

/** A user who signs in to an account. */
export interface AccountMember {
  id: string;
  name: string;
  role: Role;
  /** In lower case. */
  email: string;
  emailVerified: boolean;
  /** Of their latest visit; `null` if there was none. */
  language: Language | null;
  since: Date;
  /** `null` means that there was none yet. */
  lastSignIn: Date | null;
  /** Whether a sign-in asks for a code, too. */
  secondFactor: boolean;
}

/** The members of an account, by email. */
export async function listMembers(sql: Sql | Transaction, accountId: string): Promise<AccountMember[]> {
  return sql<AccountMember[]>`
    SELECT u."id", u."name", m.role, u."email", u."emailVerified", m.language, u."createdAt" AS since,
      m.signed_in_at AS "lastSignIn", u."twoFactorEnabled" AS "secondFactor"
    FROM dashboard_members m JOIN dashboard_users u ON u."id" = m.user_id
    WHERE m.account_id = ${accountId} ORDER BY u."email"`;
}

/**
 * Gives a member another role, or removes them with their sessions, password, links and connections (0004_dashboard.sql). Pending invitations to
 * them and by them end, because these say an earlier role. An account keeps an owner.
 *
 * @param isMeant picks the member
 * @returns the member as they were; `null` if no member is meant, `last` if they are the last owner
 * @throws NotOwnerError if a member makes the change who is no owner, except to leave
 * @throws RefusedError for an unknown account
 */
export async function changeMember(
  sql: Sql,
  accountId: string,
  isMeant: (member: AccountMember) => boolean,
  to: Role | 'removed',
  actor: Actor,
): Promise<AccountMember | 'last' | null> {
  return sql.begin(async (sql) => {
    if (to === 'removed') await lockConnections(sql, accountId);
    // If two members remove each other, the second removal waits for this lock and finds a last owner.
    await lockAccount(sql, accountId);
    const members = await listMembers(sql, accountId);
    const member = members.find(isMeant);
    if (member === undefined) return null;
    const isLeaving = to === 'removed' && actor === actorOf(member);
    if (!isLeaving) await lockForOwner(sql, accountId, actor);
    if (member.role === to) return member;
    if (to !== 'owner' && !members.some(({ id, role }) => id !== member.id && role === 'owner'))
      return 'last';
    await sql`
      DELETE FROM dashboard_invitations
      WHERE account_id = ${accountId} AND used_at IS NULL AND (email = ${member.email} OR actor = ${actorOf(member)})`;
    if (to === 'removed') {
      await sql`DELETE FROM dashboard_members WHERE user_id = ${member.id}`;
      await recordEvent(sql, accountId, { kind: 'member-removed', actor });
    } else {
      await sql`UPDATE dashboard_members SET role = ${to} WHERE user_id = ${member.id}`;
      await recordEvent(sql, accountId, { kind: 'role-changed', actor, detail: { role: to } });
    }
    return member;
  });
}

/**
 * Turns the second factor of a member off, which ends their sessions (0004_dashboard.sql).
 * @returns whether a member with a second factor has this email
 */
export async function resetSecondFactor(
  sql: Sql,
  accountId: string,
  email: string,
  actor: Actor,
): Promise<boolean> {
  return sql.begin(async (sql) => {
    await lockAccount(sql, accountId);
    const [member] = await sql<{ id: string }[]>`
      UPDATE dashboard_users u SET "twoFactorEnabled" = false FROM dashboard_members m
      WHERE m.user_id = u."id" AND m.account_id = ${accountId} AND u."email" = ${email} AND u."twoFactorEnabled"
      RETURNING u."id"`;
    if (member === undefined) return false;
    await sql`DELETE FROM dashboard_second_factors WHERE "userId" = ${member.id}`;
    await recordEvent(sql, accountId, { kind: 'second-factor-off', actor });
    return true;
  });
}

/** Records the time of a sign-in for the list of members. The first one of a day (UTC) is in the account's history, too. */
export async function recordSignIn(sql: Sql, userId: string): Promise<void> {
  const [member] = await sql<{ accountId: string; isFirst: boolean }[]>`
    UPDATE dashboard_members SET signed_in_at = now() WHERE user_id = ${userId}
    RETURNING account_id AS "accountId", old.signed_in_at >= date_trunc('day', now(), 'UTC') IS NOT TRUE AS "isFirst"`;
  if (member?.isFirst !== true) return;
  await recordEvent(sql, member.accountId, { kind: 'signed-in', actor: actorOf({ id: userId }) });
}

/**
 * Writes a row of the ledger for a change that a member can repeat. Rows are kept, so there are at most 20 of a kind a day. The
 * log has each change, too.
 */
export async function recordRepeatable(
  sql: Sql,
  accountId: string,
  user: Pick<User, 'id'>,
  kind: 'password-changed' | 'sessions-ended' | 'second-factor-on' | 'second-factor-off',
): Promise<void> {
  if ((await countAttempt(sql, changesOf(user, kind))) === null)
    await recordEvent(sql, accountId, { kind, actor: actorOf(user) });
}

/** @throws NotOwnerError if a member makes the change who is no owner */
export async function renameAccount(sql: Sql, accountId: string, name: string, actor: Actor): Promise<void> {
  await sql.begin(async (sql) => {
    await lockForOwner(sql, accountId, actor);
    await sql`UPDATE accounts SET name = ${name} WHERE id = ${accountId}`;
    await recordEvent(sql, accountId, { kind: 'account-renamed', actor });
  });
}

/** Names the authors of changes of the account for its reader: a member by email, an agent's client by its host, operators without a name. */
export async function actorNames(context: MemberContext): Promise<(actor: Actor) => string> {
  const { messages, tools, account, user } = context;
  const members = await listMembers(tools.sql, account.id);
  const emails = new Map(members.map((member) => [actorOf(member), member.email]));
  return (actor) => {
    if (actor === actorOf(user)) return messages.byYou;
    if (isClient(actor)) return actor.replace('client:', '');
    return isMember(actor) ? (emails.get(actor) ?? messages.byMember) : messages.byOperator;
  };
}

/** Of the log. Written into each line, because a line holds an address (docs/data-protection.md). */
const KEEP_DAYS = 30;

/**
 * Logs an event that shows how an account was broken into (ASVS 7.1.3, 7.2.1), with the visitor's address. It never holds an email, a
 * password or a token.
 */
export function logSecurity(
  { tools, client, trace }: PageContext,
  event: string,
  member: { userId: string; accountId: string | null } | null,
): void {
  tools.log.info(
    {
      event,
      address: client.address,
      requestId: trace.requestId,
      ...(member !== null && { member: member.userId }),
      ...(member?.accountId != null && { account: member.accountId }),
      keepDays: KEEP_DAYS,
    },
    'security',
  );
}

/** Logs an event of a signed-in member. */
export function logOfMember(context: MemberContext, event: string): void {
  logSecurity(context, event, { userId: context.user.id, accountId: context.account.id });
}
