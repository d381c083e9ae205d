import { type Actor, recordEvent } from '../accounts/events.ts';
import { clock } from '../accounts/plan.ts';
import { type AccountDetails, lockAccount, newId, requireAccount } from '../accounts/store.ts';
import { RefusedError } from '../errors.ts';
import { KEY_PREFIX, secretStart } from '../observability/redaction.ts';
import type { Sql, Transaction } from '../postgres/connect.ts';
import { MINUTE, SECOND } from '../units.ts';
import { generateSecret, hashSecret } from './secret.ts';

export interface ApiKey {
  id: string;
  name: string;
  /** The first characters of the secret. */
  start: string;
  created: Date;
  revoked: Date | null;
  /** The key is refused from this instant on; `null` means never. */
  expires: Date | null;
  /** The instant until which replaced secrets still work; `null` if there is none. */
  previousUntil: Date | null;
}

/**
 * Bounds on one account's keys on every plan. They keep lists, counts and the ledger small. `everCreated` counts revoked keys
 * too, because their rows stay.
 */
export const KEY_CAPS = { active: 200, createdPerDay: 20, everCreated: 1000 };

/** The bound that refuses a key: the plan's quota, or one of {@link KEY_CAPS}. */
export type KeyBound = 'plan' | keyof typeof KEY_CAPS;

/** A key was refused because its account has too many already. */
export class TooManyKeysError extends RefusedError {
  constructor(
    readonly bound: KeyBound,
    /** The number of keys that the bound allows. */
    readonly limit: number,
    message: string,
  ) {
    super(message);
  }
}

/** The key exists already, and its secret may not be shown any more. */
export class KeyExistsError extends RefusedError {}

/** A form that is sent twice within this time shows the secret of its key again. */
const SHOWN_AGAIN_S = (10 * MINUTE) / SECOND;

/**
 * Creates a key. The secret is not stored and can't be shown again.
 *
 * @param expires the key is refused from then on; `null` means that it doesn't expire
 * @param secret the secret of the key. An active key that got it within the last ten minutes is returned as it is, so that a
 * form that is sent twice creates one key
 * @throws RefusedError for an unknown account, or an expiry that is not in the future
 * @throws KeyExistsError if a key got this secret earlier than that, or is revoked
 * @throws TooManyKeysError when the plan's key quota, or one of {@link KEY_CAPS}, is reached
 */
export async function createKey(
  sql: Sql,
  accountId: string,
  name: string,
  actor: Actor,
  expires: Date | null = null,
  secret = generateSecret(),
): Promise<{ id: string; secret: string }> {
  return sql.begin(async (sql) => {
    // Under the account's lock, so that two requests at once for the last free place get one key.
    await lockAccount(sql, accountId);
    const [known] = await sql<{ id: string; isNew: boolean }[]>`
      SELECT id, revoked_at IS NULL AND created_at > now() - ${SHOWN_AGAIN_S} * interval '1 second' AS "isNew"
      FROM api_keys WHERE account_id = ${accountId} AND secret_sha256 = ${hashSecret(secret)}`;
    if (known?.isNew === true) return { id: known.id, secret };
    if (known !== undefined || (await isPreviousSecret(sql, secret))) {
      throw new KeyExistsError('the key was created earlier');
    }
    await refuseTooMany(sql, await requireAccount(sql, accountId));
    const id = newId('key');
    if (expires !== null && expires <= (await clock(sql))) {
      throw new RefusedError(`a key can't expire at ${expires.toISOString()}: that is not in the future`);
    }
    await sql`
      INSERT INTO api_keys (id, account_id, name, start, secret_sha256, expires_at)
      VALUES (${id}, ${accountId}, ${name}, ${secretStart(secret)}, ${hashSecret(secret)}, ${expires})`;
    const detail = { key: id, ...(expires !== null && { expires: expires.toISOString() }) };
    await recordEvent(sql, accountId, { kind: 'key-created', actor, detail });
    return { id, secret };
  });
}

/** Whether a rotation has replaced the secret. */
export async function isPreviousSecret(sql: Transaction, secret: string): Promise<boolean> {
  const rows = await sql`SELECT 1 FROM api_key_previous_secrets WHERE secret_sha256 = ${hashSecret(secret)}`;
  return rows.length > 0;
}

/** Must run under the account's lock. @throws TooManyKeysError when the account may not create another key now */
async function refuseTooMany(sql: Transaction, { id, keys, keyLimit }: AccountDetails): Promise<void> {
  const { active, createdPerDay, everCreated } = KEY_CAPS;
  const [created] = await sql<{ ever: number; lastDay: number }[]>`
    SELECT count(*) AS ever, count(*) FILTER (WHERE created_at > now() - interval '1 day') AS "lastDay"
    FROM api_keys WHERE account_id = ${id}`;
  const { ever, lastDay } = created!;
  const has = `the account has ${keys} keys`;
  const bounds: [bound: KeyBound, count: number, limit: number, message: string][] = [
    ['plan', keys, keyLimit ?? Infinity, `${has}, and its plan allows ${keyLimit}: revoke one first`],
    ['active', keys, active, `${has}, and no account may have more than ${active}: revoke one first`],
    [
      'everCreated',
      ever,
      everCreated,
      `the account has created ${ever} keys, revoked ones included, which is the most an account may create`,
    ],
    [
      'createdPerDay',
      lastDay,
      createdPerDay,
      `the account has created ${lastDay} keys in the last 24 hours, which is the most in that time: try again later`,
    ],
  ];
  for (const [bound, count, limit, message] of bounds) {
    if (count >= limit) throw new TooManyKeysError(bound, limit, message);
  }
}

/** The account's keys, revoked ones too, oldest first. @throws RefusedError for an unknown account */
export async function listKeys(sql: Sql | Transaction, accountId: string): Promise<ApiKey[]> {
  await requireAccount(sql, accountId);
  return sql<ApiKey[]>`
    SELECT ${columns(sql)} FROM api_keys WHERE account_id = ${accountId} ORDER BY created_at, id`;
}

/** Revoked keys that {@link recentKeys} returns at most. */
const RECENTLY_REVOKED = 50;

/**
 * An account's keys as a page can show them, the latest first: the active ones, the 50 that were revoked last, and how many
 * revoked ones there are in all.
 */
export async function recentKeys(
  sql: Sql,
  accountId: string,
): Promise<{ active: ApiKey[]; revoked: ApiKey[]; revokedCount: number }> {
  const [active, revoked] = await Promise.all([
    sql<ApiKey[]>`
      SELECT ${columns(sql)} FROM api_keys WHERE account_id = ${accountId} AND revoked_at IS NULL
      ORDER BY created_at DESC, id DESC`,
    sql<(ApiKey & { of: number })[]>`
      SELECT ${columns(sql)}, count(*) OVER () AS of FROM api_keys
      WHERE account_id = ${accountId} AND revoked_at IS NOT NULL
      ORDER BY revoked_at DESC, id DESC LIMIT ${RECENTLY_REVOKED}`,
  ]);
  return { active, revoked, revokedCount: revoked[0]?.of ?? 0 };
}

/** One key of the account; `null` when the account has no such key. */
export async function findKey(sql: Sql, accountId: string, id: string): Promise<ApiKey | null> {
  const [key] = await sql<ApiKey[]>`
    SELECT ${columns(sql)} FROM api_keys WHERE id = ${id} AND account_id = ${accountId}`;
  return key ?? null;
}

const columns = (sql: Sql | Transaction) => sql`
  id, name, start, created_at AS created, revoked_at AS revoked, expires_at AS expires,
  (SELECT max(until) FROM api_key_previous_secrets WHERE key_id = api_keys.id AND now() < until) AS "previousUntil"`;

/** A key, locked: changes of one key queue up. @throws RefusedError when there is none, or a secret was given for an id */
export async function lockKey(
  sql: Transaction,
  id: string,
): Promise<{ accountId: string; name: string; revoked: Date | null }> {
  if (id.startsWith(KEY_PREFIX)) {
    throw new RefusedError(
      "that is a key's secret, or its beginning: ids begin with key_, and `key list ACCOUNT` shows them",
    );
  }
  const [key] = await sql<{ accountId: string; name: string; revoked: Date | null }[]>`
    SELECT account_id AS "accountId", name, revoked_at AS revoked FROM api_keys WHERE id = ${id} FOR UPDATE`;
  if (key === undefined)
    throw new RefusedError(`there is no key ${JSON.stringify(id)}: see \`key list ACCOUNT\``);
  return key;
}

/** Gives a key another name. The ledger says that it was renamed, and no name. @throws RefusedError for an unknown key */
export async function renameKey(sql: Sql, id: string, name: string, actor: Actor): Promise<void> {
  await sql.begin(async (sql) => {
    const key = await lockKey(sql, id);
    if (key.name === name) return;
    await sql`UPDATE api_keys SET name = ${name} WHERE id = ${id}`;
    await recordEvent(sql, key.accountId, { kind: 'key-renamed', actor, detail: { key: id } });
  });
}

/** Revokes a key for good. Repeating it keeps the first date. @throws RefusedError for an unknown key */
export async function revokeKey(sql: Sql, id: string, actor: Actor): Promise<{ id: string; revoked: Date }> {
  return sql.begin(async (sql) => {
    const { accountId, revoked } = await lockKey(sql, id);
    if (revoked !== null) return { id, revoked };
    const [row] = await sql<{ revoked: Date }[]>`
      UPDATE api_keys SET revoked_at = now() WHERE id = ${id} RETURNING revoked_at AS revoked`;
    await sql`DELETE FROM api_key_previous_secrets WHERE key_id = ${id}`;
    await recordEvent(sql, accountId, { kind: 'key-revoked', actor, detail: { key: id } });
    return { id, revoked: row!.revoked };
  });
}
