import { requireAccount } from '../accounts/store.ts';
import { listKeys } from '../keys/store.ts';
import type { Sql } from '../postgres/connect.ts';
import { loadHistory } from './history.ts';

/**
 * Everything that is stored about an account and its members at one instant, except secrets (hashes of passwords and keys,
 * tokens of sessions and links).
 *
 * @returns an object for `JSON.stringify`
 * @throws RefusedError for an unknown or deleted account
 */
export async function exportAccount(sql: Sql, id: string) {
  return sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (sql) => {
    const account = await requireAccount(sql, id);
    const [row] = await sql<{ at: Date; created: Date; suspended: Date | null }[]>`
      SELECT now() AS at, created_at AS created, suspended_at AS suspended FROM accounts WHERE id = ${id}`;
    const { at, created, suspended } = row!;
    const members = sql`SELECT user_id FROM dashboard_members WHERE account_id = ${id}`;
    return {
      exported: at,
      account: { ...account, created, suspended },
      members: await sql`
        SELECT u."id", u."name", u."email", u."emailVerified", u."image", u."createdAt" AS created, u."updatedAt" AS updated,
          (SELECT max(c."updatedAt") FROM dashboard_credentials c WHERE c."userId" = u."id") AS "passwordChanged",
          m.usage_alerts AS "usageAlerts", m.language, m.signed_in_at AS "signedIn"
        FROM dashboard_users u JOIN dashboard_members m ON m.user_id = u."id"
        WHERE m.account_id = ${id} ORDER BY u."email"`,
      usageMails: await sql`
        SELECT user_id AS member, percent, period_opened_at AS period FROM dashboard_usage_alerts
        WHERE user_id IN (${members}) ORDER BY user_id, percent`,
      sessions: await sql`
        SELECT "userId" AS member, "createdAt" AS created, "updatedAt" AS updated, "expiresAt" AS expires, "ipAddress", "userAgent"
        FROM dashboard_sessions WHERE "userId" IN (${members}) ORDER BY "createdAt"`,
      links: await sql`
        SELECT "value" AS member, "createdAt" AS created, "expiresAt" AS expires
        FROM dashboard_verifications WHERE "value" IN (${members}) ORDER BY "createdAt"`,
      emailChanges: await sql`
        SELECT user_id AS member, email, expires_at AS expires FROM dashboard_email_changes
        WHERE user_id IN (${members}) ORDER BY user_id`,
      attempts: await sql`
        SELECT u."email", split_part(a.key, ' ', 1) AS kind, a.attempts, a.ends_at AS ends
        FROM dashboard_users u
        JOIN dashboard_attempts a ON a.key LIKE '% ' || encode(sha256(convert_to(u."email", 'UTF8')), 'hex')
        WHERE u."id" IN (${members}) ORDER BY u."email", kind`,
      invitations: await sql`
        SELECT email, actor, created_at AS created, expires_at AS expires, used_at AS used
        FROM dashboard_invitations WHERE account_id = ${id} ORDER BY created_at`,
      keys: await listKeys(sql, id),
      history: await loadHistory(sql, id),
      calls: await sql`
        SELECT day::text, nullif(key_id, '') AS key, kind, calls FROM calls_by_day
        WHERE account_id = ${id} ORDER BY day, key_id, kind`,
      errors: await sql`
        SELECT day::text, nullif(key_id, '') AS key, kind, calls FROM daily_error_answers
        WHERE account_id = ${id} ORDER BY day, key_id, kind`,
      refreshes: await sql`
        SELECT day::text, refreshes, last_minute AS "lastMinute" FROM account_refreshes WHERE account_id = ${id}`,
    };
  });
}
