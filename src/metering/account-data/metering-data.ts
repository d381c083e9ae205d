/** The rows of accounts that the metering stores: keys, the ledger, calls and error answers. */
import { inPages, type RowsQuery, removeInParts } from '../../platform/postgres/batches.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { unknownAccount } from '../accounts/account-store.ts';
import { type Actor, recordEvent } from '../accounts/events.ts';
import { lockForOwner } from '../accounts/rights.ts';
import { removeActivity, removeLastActivity, rowColumns } from '../activity/activity-store.ts';
import { IDLE_S } from '../connections/connection-store.ts';
import { keyColumns } from '../keys/key-store.ts';
import type { AccountData } from './account-data.ts';
import { historyRows } from './history.ts';

/** Keys, and events, that a statement changes at once. */
const KEYS_AT_ONCE = 200;
const EVENTS_AT_ONCE = 1000;

/** Sign-ins stay in the history of their account for this many days. */
const SIGN_IN_DAYS = 90;

/** A connection that has ended keeps its member's name for this many days. Its refresh tokens are removed earlier. */
const CONNECTION_DAYS = 90;

/** Counts of error answers are kept for as long as a range of days can be, and a month. */
const ERROR_MONTHS = 13;

/** Counts by hour are kept for today and so many days before. */
const DAYS_OF_HOURS = 2;

export const METERING_DATA: AccountData = {
  lists: (sql, id) => ({
    keys: sql`SELECT ${keyColumns(sql)} FROM api_keys WHERE account_id = ${id} ORDER BY created_at, id`,
    connections: sql`
      SELECT key_id AS key, member_id AS member, client_id AS "clientId", client_name AS "clientName", redirect_uri AS "redirectUri"
      FROM connections WHERE account_id = ${id} ORDER BY key_id`,
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
      SELECT day::text, nullif(key_id, '') AS key, kind, calls, credits FROM key_counts
      WHERE account_id = ${id} AND is_error ORDER BY day, key_id, kind`,
    activity: sql`SELECT ${rowColumns(sql)} FROM activity WHERE account_id = ${id} ORDER BY last, number`,
  }),

  /** Used refresh tokens, keys that have ended, members in events, error answers, activity. */
  async removeInParts(sql, id) {
    await removeInParts(
      sql,
      'connection_refresh_tokens',
      sql`used_at IS NOT NULL AND key_id IN (SELECT key_id FROM connections WHERE account_id = ${id})`,
    );
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
        WITH part AS (SELECT id FROM account_events WHERE account_id = ${id} AND id > ${last} ORDER BY id LIMIT ${EVENTS_AT_ONCE}),
        changed AS (
          UPDATE account_events SET actor = 'member' WHERE id IN (SELECT id FROM part) AND starts_with(actor, 'dashboard:'))
        SELECT max(id) AS last FROM part`;
      last = part!.last;
    }
    await removeInParts(sql, 'daily_counts', sql`account_id = ${id} AND is_error`);
    await removeActivity(sql, id);
  },

  async remove(sql, id) {
    await emptyKeys(sql, namedOrWorking(sql, id));
    const connected = sql`key_id IN (SELECT key_id FROM connections WHERE account_id = ${id})`;
    await sql`DELETE FROM connection_tokens WHERE ${connected}`;
    await sql`DELETE FROM connection_refresh_tokens WHERE ${connected}`;
    await sql`DELETE FROM connections WHERE account_id = ${id}`;
    await sql`DELETE FROM account_events WHERE account_id = ${id} AND kind = 'signed-in'`;
  },

  /**
   * Old sign-ins and error answers, the uses of forgotten secrets, and what connections no longer need. A refresh token is forgotten when
   * its connection would have ended without a refresh.
   */
  expired: (sql) => ({
    account_events: sql`kind = 'signed-in' AND at < now() - ${SIGN_IN_DAYS} * interval '1 day'`,
    daily_counts: sql`
      is_error AND day < ((now() AT TIME ZONE 'UTC')::date - ${ERROR_MONTHS} * interval '1 month')::date
      OR hour >= 0 AND day < (now() AT TIME ZONE 'UTC')::date - ${DAYS_OF_HOURS}::integer`,
    connection_requests: sql`until < now()`,
    connection_tokens: sql`until < now()`,
    connection_refresh_tokens: sql`created_at < now() - ${IDLE_S} * interval '1 second'`,
    connections: sql`
      key_id IN (SELECT id FROM api_keys WHERE is_connection AND ends_at < now() - ${CONNECTION_DAYS} * interval '1 day')`,
    connection_clients: sql`
      created_at < now() - interval '1 day' AND NOT EXISTS (SELECT 1 FROM connections c WHERE c.client_id = connection_clients.id)`,
    api_key_uses: sql`
      NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.secret_sha256 = api_key_uses.secret_sha256)
      AND NOT EXISTS (SELECT 1 FROM api_key_previous_secrets s WHERE s.secret_sha256 = api_key_uses.secret_sha256)`,
  }),
};

const namedOrWorking = (sql: Sql | Transaction, id: string) =>
  sql`account_id = ${id} AND (name <> '' OR revoked_at IS NULL)`;

/**
 * Begins the transaction of a deletion: locks the account and its keys.
 *
 * @returns when the account was deleted already; `null` if it was not
 * @throws NotOwnerError if a member deletes it who is no owner
 * @throws RefusedError for an unknown account
 */
export async function lockForDeletion(sql: Transaction, id: string, actor: Actor): Promise<Date | null> {
  // Lock keys before the account, as every change of a key does.
  await sql`
    SELECT count(*) FROM (SELECT 1 FROM api_keys WHERE ${namedOrWorking(sql, id)} ORDER BY id FOR UPDATE) AS locked`;
  const [account] = await sql<{ deleted: Date | null }[]>`
    SELECT deleted_at AS deleted FROM accounts WHERE id = ${id} FOR UPDATE`;
  if (account === undefined) throw unknownAccount(id);
  if (account.deleted === null) await lockForOwner(sql, id, actor);
  return account.deleted;
}

/** Ends the transaction of a deletion: the account's row and its ledger stay, without names. @returns when it was deleted */
export async function markDeleted(sql: Transaction, id: string, actor: Actor): Promise<Date> {
  const [row] = await sql<{ deleted: Date }[]>`
    UPDATE accounts SET name = '', deleted_at = now(), suspended_at = coalesce(suspended_at, now())
    WHERE id = ${id} RETURNING deleted_at AS deleted`;
  await recordEvent(sql, id, { kind: 'deleted', actor });
  await sql`
    UPDATE account_events SET actor = 'member' WHERE account_id = ${id} AND starts_with(actor, 'dashboard:')`;
  // Last, because error answers of other accounts wait for its end. Rows are locked in the order of their writers.
  await sql`
    WITH locked AS MATERIALIZED (
      SELECT day, key_id, kind, hour FROM daily_counts WHERE account_id = ${id} AND is_error ORDER BY day, key_id, kind, hour FOR UPDATE
    )
    DELETE FROM daily_counts d USING locked l
    WHERE d.account_id = ${id} AND (d.day, d.key_id, d.kind, d.hour) = (l.day, l.key_id, l.kind, l.hour)`;
  await removeLastActivity(sql, id);
  return row!.deleted;
}

/** Revokes keys, and removes their names, earlier secrets and uses. Uses are locked in the order of their writers. */
async function emptyKeys(sql: Sql | Transaction, condition: RowsQuery): Promise<void> {
  await sql`
    WITH emptied AS (
      UPDATE api_keys SET name = '', revoked_at = coalesce(revoked_at, now()) WHERE ${condition} RETURNING id, secret_sha256
    ), earlier AS (
      DELETE FROM api_key_previous_secrets WHERE key_id IN (SELECT id FROM emptied) RETURNING secret_sha256
    ), locked AS MATERIALIZED (
      SELECT secret_sha256 FROM api_key_uses
      WHERE secret_sha256 IN (SELECT secret_sha256 FROM emptied UNION ALL SELECT secret_sha256 FROM earlier)
      ORDER BY secret_sha256 FOR UPDATE
    )
    DELETE FROM api_key_uses u USING locked WHERE u.secret_sha256 = locked.secret_sha256`;
}
