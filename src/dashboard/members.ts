import { createAccountIn } from '../accounts/store.ts';
import type { Sql } from '../postgres/connect.ts';
import type { User } from './auth.ts';

/** Written to the ledger with everything that a user of the dashboard does. */
export function actorOf(user: Pick<User, 'id'>): string {
  return `dashboard:${user.id}`;
}

/**
 * The account of a user. Whoever has none yet gets a Free one: that is what a sign-up makes, and asking for it here
 * repairs a sign-up that was cut off between its two steps.
 */
export async function accountOf(sql: Sql, user: User): Promise<string> {
  const [member] = await sql<{ account_id: string }[]>`
    SELECT account_id FROM dashboard_members WHERE user_id = ${user.id}`;
  if (member !== undefined) return member.account_id;
  return sql.begin(async (sql) => {
    // One account, also when two of a user's first requests come at once.
    await sql`SELECT 1 FROM dashboard_users WHERE "id" = ${user.id} FOR UPDATE`;
    const [made] = await sql<{ account_id: string }[]>`
      SELECT account_id FROM dashboard_members WHERE user_id = ${user.id}`;
    if (made !== undefined) return made.account_id;
    const { id } = await createAccountIn(sql, { name: user.name, plan: 'free' }, actorOf(user));
    await sql`INSERT INTO dashboard_members (user_id, account_id) VALUES (${user.id}, ${id})`;
    return id;
  });
}
