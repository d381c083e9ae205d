/** The rows of accounts that the dashboard stores: members, their sessions and mails, invitations. */
import type { AccountData } from '../../metering/account-data/account-data.ts';
import { removeInParts } from '../../platform/postgres/batches.ts';
import { SECOND } from '../../platform/units.ts';
import { SESSION_MAX_MS } from '../auth/sessions.ts';

/** An unconfirmed sign-up is removed after this many days, because its email may be a stranger's. */
const UNCONFIRMED_DAYS = 7;

export const DASHBOARD_DATA: AccountData = {
  /** Sessions, links, mails and attempts of other members are left out for a member, because these are theirs and not the account's. */
  lists(sql, id, reader) {
    const shown = sql`
      SELECT user_id FROM dashboard_members WHERE account_id = ${id} AND (${reader ?? null}::text IS NULL OR user_id = ${reader ?? null})`;
    return {
      members: sql`
        SELECT u."id", u."name", u."email", u."emailVerified", u."image", u."createdAt" AS created, u."updatedAt" AS updated,
          (SELECT max(c."updatedAt") FROM dashboard_credentials c WHERE c."userId" = u."id") AS "passwordChanged",
          u."twoFactorEnabled" AS "secondFactor", m.role, m.usage_alerts AS "usageAlerts", m.language, m.signed_in_at AS "signedIn"
        FROM dashboard_users u JOIN dashboard_members m ON m.user_id = u."id"
        WHERE m.account_id = ${id} ORDER BY u."email"`,
      mails: sql`
        SELECT user_id AS member, topic, occasion FROM dashboard_sent_mails
        WHERE user_id IN (${shown}) ORDER BY user_id, topic`,
      sessions: sql`
        SELECT "userId" AS member, "createdAt" AS created, "updatedAt" AS updated, "expiresAt" AS expires, "ipAddress", "userAgent"
        FROM dashboard_sessions WHERE "userId" IN (${shown}) ORDER BY "createdAt"`,
      links: sql`
        SELECT "value" AS member, "createdAt" AS created, "expiresAt" AS expires
        FROM dashboard_verifications WHERE "value" IN (${shown}) ORDER BY "createdAt"`,
      emailChanges: sql`
        SELECT user_id AS member, email, expires_at AS expires FROM dashboard_email_changes
        WHERE user_id IN (${shown}) ORDER BY user_id`,
      attempts: sql`
        SELECT u."email", split_part(a.key, ' ', 1) AS kind, a.attempts, a.ends_at AS ends
        FROM dashboard_users u JOIN dashboard_attempts a
          ON split_part(a.key, ' ', 2) IN (u."id", encode(sha256(convert_to(u."email", 'UTF8')), 'hex'))
        WHERE u."id" IN (${shown}) ORDER BY u."email", kind`,
      invitations: sql`
        SELECT email, role, actor, created_at AS created, expires_at AS expires, used_at AS used
        FROM dashboard_invitations WHERE account_id = ${id} ORDER BY created_at`,
    };
  },

  /** Used invitations, and notes of mails. */
  async removeInParts(sql, id) {
    await removeInParts(sql, 'dashboard_invitations', sql`account_id = ${id} AND used_at IS NOT NULL`);
    const members = sql`SELECT user_id FROM dashboard_members WHERE account_id = ${id}`;
    await removeInParts(sql, 'dashboard_sent_mails', sql`user_id IN (${members})`);
  },

  async remove(sql, id) {
    await sql`DELETE FROM dashboard_invitations WHERE account_id = ${id}`;
    // The users go with it (0004_dashboard.sql).
    await sql`DELETE FROM dashboard_members WHERE account_id = ${id}`;
  },

  /**
   * Sessions, links, invitations and attempts, and users that never confirmed their email nor signed in. better-auth ignores expired
   * sessions and links, but keeps them.
   */
  expired: (sql) => ({
    dashboard_sessions: sql`
      "expiresAt" < now() OR "createdAt" < now() - ${SESSION_MAX_MS / SECOND} * interval '1 second'`,
    dashboard_verifications: sql`"expiresAt" < now()`,
    dashboard_email_changes: sql`expires_at < now()`,
    dashboard_invitations: sql`expires_at < now() - interval '30 days'`,
    dashboard_attempts: sql`ends_at < now()`,
    dashboard_users: sql`
      NOT "emailVerified" AND "createdAt" < now() - ${UNCONFIRMED_DAYS} * interval '1 day'
      AND NOT EXISTS (SELECT 1 FROM dashboard_members m WHERE m.user_id = dashboard_users."id")`,
  }),
};
