import { COMPANIES_DATA } from '../../companies/lookup/lookup-account-data.ts';
import type { AccountData } from '../../metering/account-data/account-data.ts';
import { entryOf, type HistoryRow } from '../../metering/account-data/history.ts';
import { lockForDeletion, METERING_DATA, markDeleted } from '../../metering/account-data/metering-data.ts';
import { requireAccount } from '../../metering/accounts/account-store.ts';
import { type Actor, isClient, isMember } from '../../metering/accounts/events.ts';
import { batchesOf, removeInParts } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { printableJson } from '../../platform/terminal/text.ts';
import { SECOND } from '../../platform/units.ts';
import { SESSION_MAX_MS } from '../auth/sessions.ts';

/** An unconfirmed sign-up is removed after this many days, because its email may be a stranger's. */
const UNCONFIRMED_DAYS = 7;

/** The rows of accounts that the dashboard stores: members, their sessions and mails, invitations. */
const DASHBOARD_DATA: AccountData = {
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

/** All that is stored of accounts, by wing, in the order of the lists of an export. */
const WINGS: readonly AccountData[] = [DASHBOARD_DATA, METERING_DATA, COMPANIES_DATA];

/** Removes the rows of every wing that have expired, in parts. */
export async function removeExpired(sql: Sql): Promise<void> {
  for (const wing of WINGS) {
    const expired = Object.entries(wing.expired?.(sql) ?? {});
    for (const [table, condition] of expired) await removeInParts(sql, table, condition);
  }
}

/**
 * Deletes an account: revokes its keys and removes its members with their sessions, its invitations and all names. Its ledger
 * of grants, calls and changes stays, with `member` in place of each member. Repeating it keeps the first date.
 *
 * An account can have very many rows that no longer mean anything. They are removed in parts before the transaction. If the process
 * dies in between, the account still works, and can be deleted again.
 *
 * @returns when it was deleted
 * @throws NotOwnerError if a member deletes it who is no owner
 * @throws RefusedError for an unknown account
 */
export async function deleteAccount(sql: Sql, id: string, actor: Actor): Promise<Date> {
  for (const wing of WINGS) await wing.removeInParts?.(sql, id);
  return sql.begin(async (sql) => {
    const deletedBefore = await lockForDeletion(sql, id, actor);
    if (deletedBefore !== null) return deletedBefore;
    for (const wing of WINGS) await wing.remove(sql, id);
    return markDeleted(sql, id, actor);
  });
}

/**
 * Writes everything that is stored about an account and its members at one instant. Secrets are left out: hashes of passwords
 * and keys, tokens of sessions and links. The rows come from a cursor, so the memory does not grow with them.
 *
 * @param write gets the parts of one JSON document, with a row a line; the next part waits for it
 * @param options.reader the id of the member who reads it: `operator` stands for the names of operators, and sessions, links,
 * mails and attempts of other members are left out, because these are theirs and not the account's. Absent: an operator
 * @throws RefusedError for an unknown or deleted account, before the first part
 */
export async function exportAccount(
  sql: Sql,
  id: string,
  write: (part: string) => Promise<void>,
  { reader }: { reader?: string } = {},
): Promise<void> {
  const shown = (row: object) =>
    reader !== undefined && 'actor' in row && !isMember(String(row.actor)) && !isClient(String(row.actor))
      ? { ...row, actor: 'operator' }
      : row;
  await sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (sql) => {
    const account = await requireAccount(sql, id);
    const [row] = await sql<{ at: Date; created: Date; suspended: Date | null }[]>`
      SELECT now() AS at, created_at AS created, suspended_at AS suspended FROM accounts WHERE id = ${id}`;
    const { at, ...state } = row!;
    await write(
      `{\n"exported": ${printableJson(at)},\n"account": ${printableJson({ ...account, ...state })}`,
    );
    const lists = WINGS.flatMap((wing) => Object.entries(wing.lists(sql, id, reader)));
    for (const [name, query] of lists) {
      await write(`,\n"${name}": [`);
      let separator = '\n';
      for await (const rows of batchesOf(sql, query)) {
        const ready = name === 'history' ? rows.map((row) => entryOf(row as HistoryRow)) : rows;
        await write(separator + ready.map((row) => printableJson(shown(row))).join(',\n'));
        separator = ',\n';
      }
      await write(']');
    }
    await write('\n}');
  });
}
