import { type Actor, recordEvent } from '../../metering/accounts/events.ts';
import { lockForOwner } from '../../metering/accounts/rights.ts';
import { unknownAccount } from '../../metering/accounts/store.ts';
import { inPages, type RowsQuery } from '../../platform/postgres/batches.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';

/** Keys, and other rows, that a statement removes at once. Error answers of other accounts wait for its end. */
const KEYS_AT_ONCE = 200;
const ROWS_AT_ONCE = 1000;

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
  await removeInParts(sql, id);
  return sql.begin(async (sql) => {
    const left = sql`account_id = ${id} AND (name <> '' OR revoked_at IS NULL)`;
    // Lock keys before the account, as every change of a key does.
    await sql`
      SELECT count(*) FROM (SELECT 1 FROM api_keys WHERE ${left} ORDER BY id FOR UPDATE) AS locked`;
    const [account] = await sql<{ deleted: Date | null }[]>`
      SELECT deleted_at AS deleted FROM accounts WHERE id = ${id} FOR UPDATE`;
    if (account === undefined) throw unknownAccount(id);
    if (account.deleted !== null) return account.deleted;
    await lockForOwner(sql, id, actor);
    await sql`DELETE FROM dashboard_invitations WHERE account_id = ${id}`;
    // The users go with it (0004_dashboard.sql).
    await sql`DELETE FROM dashboard_members WHERE account_id = ${id}`;
    await emptyKeys(sql, left);
    await sql`DELETE FROM account_refreshes WHERE account_id = ${id}`;
    const [row] = await sql<{ deleted: Date }[]>`
      UPDATE accounts SET name = '', deleted_at = now(), suspended_at = coalesce(suspended_at, now())
      WHERE id = ${id} RETURNING deleted_at AS deleted`;
    await sql`DELETE FROM account_events WHERE account_id = ${id} AND kind = 'signed-in'`;
    await recordEvent(sql, id, { kind: 'deleted', actor });
    await sql`
      UPDATE account_events SET actor = 'member' WHERE account_id = ${id} AND starts_with(actor, 'dashboard:')`;
    // Last, because error answers of other accounts wait for its end.
    await sql`DELETE FROM daily_error_answers WHERE account_id = ${id}`;
    return row!.deleted;
  });
}

/** Removes what has no bound: keys that have ended, members in events, error answers, used invitations, notes of mails. */
async function removeInParts(sql: Sql, id: string): Promise<void> {
  const ended = inPages<{ id: string }>(
    (last) => sql`
      SELECT id FROM api_keys WHERE account_id = ${id} AND ends_at <= now()
        AND (${last?.id ?? null}::text IS NULL OR (created_at, id) > (SELECT created_at, id FROM api_keys WHERE id = ${last?.id ?? null}))
      ORDER BY created_at, id LIMIT ${KEYS_AT_ONCE}`,
  );
  for await (const keys of ended)
    await emptyKeys(sql, sql`id = ANY (${keys.map((key) => key.id)}::text[]) AND ends_at <= now()`);
  for (let last: number | null = 0; last !== null; ) {
    const [part]: { last: number | null }[] = await sql<{ last: number | null }[]>`
      WITH part AS (SELECT id FROM account_events WHERE account_id = ${id} AND id > ${last} ORDER BY id LIMIT ${ROWS_AT_ONCE}),
      changed AS (
        UPDATE account_events SET actor = 'member' WHERE id IN (SELECT id FROM part) AND starts_with(actor, 'dashboard:'))
      SELECT max(id) AS last FROM part`;
    last = part!.last;
  }
  const members = sql`SELECT user_id FROM dashboard_members WHERE account_id = ${id}`;
  const conditions: Record<string, RowsQuery> = {
    daily_error_answers: sql`account_id = ${id}`,
    dashboard_invitations: sql`account_id = ${id} AND used_at IS NOT NULL`,
    dashboard_sent_mails: sql`user_id IN (${members})`,
  };
  for (const [table, condition] of Object.entries(conditions)) {
    for (let rows = 1; rows > 0; ) {
      const removed = await sql`
        DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${sql(table)} WHERE ${condition} LIMIT ${ROWS_AT_ONCE}))`;
      rows = removed.count;
    }
  }
}

/** Revokes keys, and removes their names, earlier secrets and uses. */
async function emptyKeys(sql: Sql | Transaction, condition: RowsQuery): Promise<void> {
  await sql`
    WITH emptied AS (
      UPDATE api_keys SET name = '', revoked_at = coalesce(revoked_at, now()) WHERE ${condition} RETURNING id, secret_sha256
    ), earlier AS (
      DELETE FROM api_key_previous_secrets WHERE key_id IN (SELECT id FROM emptied) RETURNING secret_sha256
    )
    DELETE FROM api_key_uses
    WHERE secret_sha256 IN (SELECT secret_sha256 FROM emptied UNION ALL SELECT secret_sha256 FROM earlier)`;
}
