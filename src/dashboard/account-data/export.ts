import { entryOf, type HistoryRow, historyRows } from '../../metering/account-data/history.ts';
import { isMember } from '../../metering/accounts/events.ts';
import { requireAccount } from '../../metering/accounts/store.ts';
import { keyColumns } from '../../metering/keys/store.ts';
import { batchesOf, type RowsQuery } from '../../platform/postgres/batches.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { printableJson } from '../../platform/terminal/text.ts';

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
    reader !== undefined && 'actor' in row && !isMember(String(row.actor))
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
    for (const [name, query] of Object.entries(listsOf(sql, id, reader))) {
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

/** The queries of the lists, by their names in the document. */
function listsOf(sql: Transaction, id: string, reader?: string): Record<string, RowsQuery> {
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
    keys: sql`SELECT ${keyColumns(sql)} FROM api_keys WHERE account_id = ${id} ORDER BY created_at, id`,
    secretUses: sql`
      SELECT k.id AS key, used_at AS "lastUsed" FROM api_key_uses
      JOIN (SELECT id, secret_sha256 FROM api_keys WHERE account_id = ${id}
        UNION ALL
        SELECT key_id, s.secret_sha256 FROM api_key_previous_secrets s JOIN api_keys ON id = key_id WHERE account_id = ${id}
      ) AS k USING (secret_sha256) ORDER BY k.id, used_at`,
    history: sql`${historyRows(sql, id)} ORDER BY e.id`,
    calls: sql`
      SELECT day::text, nullif(key_id, '') AS key, kind, calls FROM calls_by_day
      WHERE account_id = ${id} ORDER BY day, key_id, kind`,
    errors: sql`
      SELECT day::text, nullif(key_id, '') AS key, kind, calls, credits FROM daily_error_answers
      WHERE account_id = ${id} ORDER BY day, key_id, kind`,
    refreshes: sql`
      SELECT day::text, refreshes, last_minute AS "lastMinute" FROM account_refreshes WHERE account_id = ${id}`,
  };
}
