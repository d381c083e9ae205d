import type { Sql } from '../../platform/postgres/connect.ts';
import { type Actor, recordEvent } from '../accounts/events.ts';
import { lockForOwner } from '../accounts/rights.ts';
import { unknownAccount } from '../accounts/store.ts';

/**
 * Deletes an account: revokes its keys and removes its members with their sessions, its invitations and all names. Its ledger
 * of grants, calls and changes stays, with `member` in place of each member. Repeating it keeps the first date.
 *
 * @returns when it was deleted
 * @throws NotOwnerError if a member deletes it who is no owner
 * @throws RefusedError for an unknown account
 */
export async function deleteAccount(sql: Sql, id: string, actor: Actor): Promise<Date> {
  return sql.begin(async (sql) => {
    // Lock keys before the account, as every change of a key does.
    await sql`
      SELECT count(*) FROM (SELECT 1 FROM api_keys WHERE account_id = ${id} ORDER BY id FOR UPDATE) AS locked`;
    const [account] = await sql<{ deleted: Date | null }[]>`
      SELECT deleted_at AS deleted FROM accounts WHERE id = ${id} FOR UPDATE`;
    if (account === undefined) throw unknownAccount(id);
    if (account.deleted !== null) return account.deleted;
    await lockForOwner(sql, id, actor);
    await sql`DELETE FROM dashboard_invitations WHERE account_id = ${id}`;
    // The users go with it (0004_dashboard.sql).
    await sql`DELETE FROM dashboard_members WHERE account_id = ${id}`;
    await sql`
      DELETE FROM api_key_previous_secrets
      WHERE key_id IN (SELECT k.id FROM api_keys k WHERE k.account_id = ${id})`;
    await sql`
      UPDATE api_keys SET name = '', revoked_at = coalesce(revoked_at, now()) WHERE account_id = ${id}`;
    await sql`
      DELETE FROM api_key_uses
      WHERE secret_sha256 IN (SELECT k.secret_sha256 FROM api_keys k WHERE k.account_id = ${id})`;
    await sql`DELETE FROM account_refreshes WHERE account_id = ${id}`;
    await sql`DELETE FROM daily_error_answers WHERE account_id = ${id}`;
    const [row] = await sql<{ deleted: Date }[]>`
      UPDATE accounts SET name = '', deleted_at = now(), suspended_at = coalesce(suspended_at, now())
      WHERE id = ${id} RETURNING deleted_at AS deleted`;
    await sql`DELETE FROM account_events WHERE account_id = ${id} AND kind = 'signed-in'`;
    await recordEvent(sql, id, { kind: 'deleted', actor });
    await sql`
      UPDATE account_events SET actor = 'member' WHERE account_id = ${id} AND starts_with(actor, 'dashboard:')`;
    return row!.deleted;
  });
}
