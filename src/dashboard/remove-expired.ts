import type { Sql } from '../postgres/connect.ts';
import { HOUR } from '../units.ts';

/** No limit on attempts from one address looks further back: what is older than this counts for nothing. */
export const LONGEST_WINDOW_MS = HOUR;

/**
 * Forgets sessions and links whose time is over, and addresses whose attempts are: better-auth passes over the first, but
 * leaves them where they are, and removes the others only when an address comes back after its window.
 */
export async function removeExpired(sql: Sql): Promise<void> {
  await sql`DELETE FROM dashboard_sessions WHERE "expiresAt" < now()`;
  await sql`DELETE FROM dashboard_verifications WHERE "expiresAt" < now()`;
  await sql`DELETE FROM dashboard_invitations WHERE expires_at < now() - interval '30 days'`;
  // Its times are the process's, not Postgres's.
  await sql`DELETE FROM dashboard_rate_limits WHERE "lastRequest" < ${Date.now() - LONGEST_WINDOW_MS}`;
}
