import { createAccountIn } from '../../accounts/store.ts';
import type { Sql } from '../../postgres/connect.ts';
import type { Language } from '../ui/language.ts';
import type { User } from './auth.ts';

/** Written to the ledger with everything that a user of the dashboard does. */
export function actorOf(user: Pick<User, 'id'>): string {
  return `dashboard:${user.id}`;
}

/**
 * The account of a user. Whoever has none yet gets a Free one: that is what a sign-up makes, and asking for it here
 * repairs a sign-up that was cut off between its two steps.
 *
 * @param language of this visit, kept for mails that nobody asks for
 */
export async function accountOf(sql: Sql, user: User, language: Language): Promise<string> {
  const member = await memberOf(sql, user.id);
  if (member !== null) {
    if (member.language !== language) {
      await sql`UPDATE dashboard_members SET language = ${language} WHERE user_id = ${user.id}`;
    }
    return member.accountId;
  }
  return sql.begin(async (sql) => {
    // One account, also when two of a user's first requests come at once.
    await sql`SELECT 1 FROM dashboard_users WHERE "id" = ${user.id} FOR UPDATE`;
    const [made] = await sql<{ account_id: string }[]>`
      SELECT account_id FROM dashboard_members WHERE user_id = ${user.id}`;
    if (made !== undefined) return made.account_id;
    const { id } = await createAccountIn(sql, { name: user.name, plan: 'free' }, actorOf(user));
    await sql`
      INSERT INTO dashboard_members (user_id, account_id, language) VALUES (${user.id}, ${id}, ${language})`;
    return id;
  });
}

/** What a member sees and wants. */
export interface Membership {
  accountId: string;
  /** Whether they want a mail when the allowance is nearly used, and when it is. */
  usageAlerts: boolean;
  /** Of their latest visit: mails that nobody asks for are written in it. */
  language: Language | null;
}

/** `null` for a user who has no account yet. */
export async function memberOf(sql: Sql, userId: string): Promise<Membership | null> {
  const [member] = await sql<Membership[]>`
    SELECT account_id AS "accountId", usage_alerts AS "usageAlerts", language FROM dashboard_members
    WHERE user_id = ${userId}`;
  return member ?? null;
}

export async function setUsageAlerts(sql: Sql, userId: string, usageAlerts: boolean): Promise<void> {
  await sql`UPDATE dashboard_members SET usage_alerts = ${usageAlerts} WHERE user_id = ${userId}`;
}
