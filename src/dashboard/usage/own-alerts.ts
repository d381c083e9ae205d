import type { Sql } from '../../postgres/connect.ts';
import { newLinkToken } from '../auth/link-token.ts';
import type { Language } from '../ui/language.ts';

export const ALERT_KINDS = ['percent', 'credits'] as const;

/** A mail that an account has set up beside those of its members. */
export interface OwnAlert {
  /** Random, because the link in its mails that ends the alert holds it. */
  id: string;
  /** Any address, such as that of an accounts department. */
  email: string;
  /** `percent` of the allowance used, once a period; or purchased `credits` left, once a purchase. */
  kind: (typeof ALERT_KINDS)[number];
  threshold: number;
}

/** The most of an account. */
export const MAX_OWN_ALERTS = 10;

export async function listOwnAlerts(sql: Sql, accountId: string): Promise<OwnAlert[]> {
  return sql<OwnAlert[]>`
    SELECT id, email, kind, threshold FROM dashboard_own_alerts
    WHERE account_id = ${accountId} ORDER BY email, kind, threshold`;
}

/** Adds an alert; the same one twice is one. @returns `false` if the account has the most already */
export async function addOwnAlert(
  sql: Sql,
  accountId: string,
  { email, kind, threshold }: Omit<OwnAlert, 'id'>,
  language: Language,
): Promise<boolean> {
  return sql.begin(async (sql) => {
    // The lock lets forms that are sent at once count one after another.
    await sql`SELECT 1 FROM accounts WHERE id = ${accountId} FOR UPDATE`;
    const [row] = await sql<{ count: number }[]>`
      SELECT count(*) FROM dashboard_own_alerts WHERE account_id = ${accountId}`;
    if (row!.count >= MAX_OWN_ALERTS) return false;
    await sql`
      INSERT INTO dashboard_own_alerts (id, account_id, email, kind, threshold, language)
      VALUES (${newLinkToken()}, ${accountId}, ${email.toLowerCase()}, ${kind}, ${threshold}, ${language})
      ON CONFLICT (account_id, email, kind, threshold) DO NOTHING`;
    return true;
  });
}

/** Ends an alert, by its account or by a reader of its mails. @param accountId only one of this account; absent: any */
export async function removeOwnAlert(sql: Sql, id: string, accountId?: string): Promise<void> {
  await sql`
    DELETE FROM dashboard_own_alerts
    WHERE id = ${id} AND account_id = coalesce(${accountId ?? null}, account_id)`;
}
