import type { Sql } from '../postgres/connect.ts';

/** Forgets sessions and links whose time is over: better-auth passes over them, but leaves them where they are. */
export async function removeExpired(sql: Sql): Promise<void> {
  await sql`DELETE FROM dashboard_sessions WHERE "expiresAt" < now()`;
  await sql`DELETE FROM dashboard_verifications WHERE "expiresAt" < now()`;
  await sql`DELETE FROM dashboard_invitations WHERE expires_at < now() - interval '30 days'`;
}
