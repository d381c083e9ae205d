import { type Actor, recordEvent } from '../accounts/events.ts';
import { newId } from '../accounts/ids.ts';
import { lockAccount, requireAccount } from '../accounts/store.ts';
import { RefusedError } from '../errors.ts';
import type { Sql } from '../postgres/connect.ts';
import { generateSecret, hashSecret, KEY_PREFIX, secretStart } from './secret.ts';

export interface ApiKey {
  id: string;
  name: string;
  /** The first characters of the secret. */
  start: string;
  created: Date;
  revoked: Date | null;
}

/**
 * Creates a key. The secret is not stored and can't be had again.
 * @throws RefusedError for an unknown account, or when the plan's key quota is reached
 */
export async function createKey(
  sql: Sql,
  accountId: string,
  name: string,
  actor: Actor,
): Promise<{ id: string; secret: string }> {
  const id = newId('key');
  const secret = generateSecret();
  await sql.begin(async (sql) => {
    // The account's lock: two that ask for the last free place at once get one key.
    await lockAccount(sql, accountId);
    const account = await requireAccount(sql, accountId);
    if (account.keyLimit !== null && account.keys >= account.keyLimit) {
      throw new RefusedError(
        `the account has ${account.keys} keys, and its plan allows ${account.keyLimit}: revoke one first`,
      );
    }
    await sql`
      INSERT INTO api_keys (id, account_id, name, start, secret_sha256)
      VALUES (${id}, ${accountId}, ${name}, ${secretStart(secret)}, ${hashSecret(secret)})`;
    await recordEvent(sql, accountId, { kind: 'key-created', actor, detail: { key: id } });
  });
  return { id, secret };
}

/** The account's keys, revoked ones too, oldest first. @throws RefusedError for an unknown account */
export async function listKeys(sql: Sql, accountId: string): Promise<ApiKey[]> {
  await requireAccount(sql, accountId);
  return sql<ApiKey[]>`
    SELECT id, name, start, created_at AS created, revoked_at AS revoked
    FROM api_keys WHERE account_id = ${accountId} ORDER BY created_at, id`;
}

/** Revokes a key for good. Repeating it keeps the first date. @throws RefusedError for an unknown key */
export async function revokeKey(sql: Sql, id: string, actor: Actor): Promise<{ id: string; revoked: Date }> {
  if (id.startsWith(KEY_PREFIX)) {
    throw new RefusedError(
      "that is a key's secret, or its beginning: ids begin with key_, and `key list ACCOUNT` shows them",
    );
  }
  return sql.begin(async (sql) => {
    const [key] = await sql<{ account_id: string; revoked_at: Date | null }[]>`
      SELECT account_id, revoked_at FROM api_keys WHERE id = ${id} FOR UPDATE`;
    if (key === undefined)
      throw new RefusedError(`there is no key ${JSON.stringify(id)}: see \`key list ACCOUNT\``);
    if (key.revoked_at !== null) return { id, revoked: key.revoked_at };
    const [row] = await sql<{ revoked: Date }[]>`
      UPDATE api_keys SET revoked_at = now() WHERE id = ${id} RETURNING revoked_at AS revoked`;
    await recordEvent(sql, key.account_id, { kind: 'key-revoked', actor, detail: { key: id } });
    return { id, revoked: row!.revoked };
  });
}
