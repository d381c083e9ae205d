import type { Sql } from '../../platform/postgres/connect.ts';
import { SECOND } from '../../platform/units.ts';
import { SESSION_MAX_MS } from '../auth/sessions.ts';

/** An unconfirmed sign-up is removed after this many days, because its email may be a stranger's. */
const UNCONFIRMED_DAYS = 7;

/** Sign-ins stay in the history of their account for this many days. */
const SIGN_IN_DAYS = 90;

/** Counts of error answers are kept for as long as a range of days can be, and a month. */
const ERROR_MONTHS = 13;

/**
 * Deletes what has expired: sessions, links, invitations and attempts. Deletes also old sign-ins and error answers, the uses of
 * forgotten secrets, and users that never confirmed their email nor signed in. better-auth ignores expired sessions and links, but keeps them.
 */
export async function removeExpired(sql: Sql): Promise<void> {
  await sql`
    DELETE FROM dashboard_sessions
    WHERE "expiresAt" < now() OR "createdAt" < now() - ${SESSION_MAX_MS / SECOND} * interval '1 second'`;
  await sql`DELETE FROM dashboard_verifications WHERE "expiresAt" < now()`;
  await sql`DELETE FROM dashboard_email_changes WHERE expires_at < now()`;
  await sql`
    DELETE FROM account_events WHERE kind = 'signed-in' AND at < now() - ${SIGN_IN_DAYS} * interval '1 day'`;
  await sql`
    DELETE FROM daily_error_answers
    WHERE day < ((now() AT TIME ZONE 'UTC')::date - ${ERROR_MONTHS} * interval '1 month')::date`;
  await sql`DELETE FROM dashboard_invitations WHERE expires_at < now() - interval '30 days'`;
  await sql`
    DELETE FROM api_key_uses u
    WHERE NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.secret_sha256 = u.secret_sha256)
      AND NOT EXISTS (SELECT 1 FROM api_key_previous_secrets s WHERE s.secret_sha256 = u.secret_sha256)`;
  await sql`DELETE FROM dashboard_attempts WHERE ends_at < now()`;
  await sql`
    DELETE FROM dashboard_users u
    WHERE NOT "emailVerified" AND "createdAt" < now() - ${UNCONFIRMED_DAYS} * interval '1 day'
      AND NOT EXISTS (SELECT 1 FROM dashboard_members m WHERE m.user_id = u."id")`;
}
