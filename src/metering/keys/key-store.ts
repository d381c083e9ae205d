import { RefusedError } from '../../platform/errors.ts';
import { KEY_PREFIX, secretStart } from '../../platform/observability/redaction.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import { type AccountDetails, lockAccount, newId, requireAccount } from '../accounts/account-store.ts';
import { type Actor, recordEvent } from '../accounts/events.ts';
import { clock, type Plan } from '../accounts/plan.ts';
import {
  type Budget,
  type GivenLimits,
  inOrder,
  type KeyLimits,
  limitColumns,
  limitDetail,
  type PresentLimits,
} from './limits.ts';
import { generateSecret, hashSecret, isTestSecret } from './secret.ts';

export interface ApiKey extends PresentLimits {
  id: string;
  name: string;
  test: boolean;
  /** Whether it is a connection, which works at `/mcp` alone (src/metering/connections). */
  connection: boolean;
  /** The first characters of the secret. */
  start: string;
  created: Date;
  revoked: Date | null;
  /** The key is refused from this instant on; `null` means never. */
  expires: Date | null;
  /** The instant until which replaced secrets still work; `null` if there is none. */
  previousUntil: Date | null;
}

/** Keys that an account may create in 24 hours. Revoked ones count, because their rows and the ledger's stay. */
const KEYS_PER_DAY: Record<Plan, number> = { free: 20, plus: 1000 };

/** Test keys that an account may have at the same time, beside those of its plan. */
const MAX_TEST_KEYS = 5;

/** A key was refused because its account has too many already. */
export class TooManyKeysError extends RefusedError {
  constructor(
    /** The bound that refuses it: the room of the plan, {@link MAX_TEST_KEYS}, or {@link KEYS_PER_DAY}. */
    readonly bound: Plan | 'test' | 'day',
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
 * @param secret the secret of the key, which makes it a test key or not. An active key that got it within the last ten minutes is
 * returned as it is, so that a form that is sent twice creates one key
 * @throws RefusedError for an unknown account, an expiry that is not in the future, or a test key with a budget
 * @throws KeyExistsError if a key got this secret earlier than that, or is revoked
 * @throws TooManyKeysError when the plan has no room for another key, or the account has created {@link KEYS_PER_DAY}
 */
export async function createKey(
  sql: Sql,
  accountId: string,
  name: string,
  actor: Actor,
  expires: Date | null = null,
  secret = generateSecret(),
  { budget = null, only = null, requests_per_minute = null }: GivenLimits = {},
): Promise<{ id: string; secret: string }> {
  const limits = { budget, only, requests_per_minute };
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
    const test = isTestSecret(secret);
    await refuseTooMany(sql, await requireAccount(sql, accountId), test);
    await refusePast(sql, expires);
    refuseBudgetOf({ test }, limits.budget);
    const id = await insertKey(sql, { accountId, name, secret, expires }, limits);
    const isLimited = Object.values(limits).some((limit) => limit !== null);
    const detail = {
      key: id,
      ...(expires !== null && { expires: expires.toISOString() }),
      ...(isLimited && limitDetail(limits)),
    };
    await recordEvent(sql, accountId, { kind: 'key-created', actor, detail });
    return { id, secret };
  });
}

/** Stores a key that nothing refuses, and its counter. @returns its new id */
export async function insertKey(
  sql: Transaction,
  key: { accountId: string; name: string; secret: string; expires: Date | null; isConnection?: boolean },
  { budget, only, requests_per_minute }: KeyLimits,
): Promise<string> {
  const { accountId, name, secret, expires, isConnection = false } = key;
  const id = newId('key');
  await sql`
    INSERT INTO api_keys (id, account_id, name, start, secret_sha256, expires_at, rights, requests_per_minute, is_connection, shares_rate)
    VALUES (${id}, ${accountId}, ${name}, ${secretStart(secret)}, ${hashSecret(secret)}, ${expires}, ${only && inOrder(only)},
      ${requests_per_minute}, ${isConnection}, ${isConnection})`;
  await sql`
    INSERT INTO counters (id, included_credits, per) VALUES (${id}, ${budget?.credits ?? null}, ${budget?.per ?? 'ever'})`;
  return id;
}

/** Whether a rotation has replaced the secret. */
export async function isPreviousSecret(sql: Transaction, secret: string): Promise<boolean> {
  const rows = await sql`SELECT 1 FROM api_key_previous_secrets WHERE secret_sha256 = ${hashSecret(secret)}`;
  return rows.length > 0;
}

/** Must run under the account's lock. @throws TooManyKeysError when there is no room for another key of this kind */
export async function refuseWithoutRoom(sql: Transaction, account: AccountDetails, isTest: boolean) {
  const { id, plan, keys, keyLimit } = account;
  if (isTest) {
    const rows = await sql`SELECT 1 FROM api_keys WHERE account_id = ${id} AND ends_at > now() AND is_test`;
    if (rows.length < MAX_TEST_KEYS) return;
    const message = `the account has ${rows.length} test keys, and may have ${MAX_TEST_KEYS}: revoke one first`;
    throw new TooManyKeysError('test', MAX_TEST_KEYS, message);
  }
  if (keys < keyLimit) return;
  const message = `the account has ${keys} keys, and its plan allows ${keyLimit}: revoke one first`;
  throw new TooManyKeysError(plan, keyLimit, message);
}

/** Must run under the account's lock. @throws TooManyKeysError when the account may not create another key now */
async function refuseTooMany(sql: Transaction, account: AccountDetails, isTest: boolean): Promise<void> {
  await refuseWithoutRoom(sql, account, isTest);
  const { id, plan } = account;
  const perDay = KEYS_PER_DAY[plan];
  const { lastDay } = only(
    await sql<{ lastDay: number }[]>`
      SELECT count(*) AS "lastDay" FROM api_keys WHERE account_id = ${id} AND created_at > now() - interval '1 day' AND NOT is_connection`,
  );
  if (lastDay >= perDay) {
    const message = `the account has created ${lastDay} keys in the last 24 hours, and its plan allows ${perDay}: try again later`;
    throw new TooManyKeysError('day', perDay, message);
  }
}

/** Keys that {@link listKeys} returns at most. */
const KEYS_AT_A_TIME = 1000;

/**
 * Keys of the account, revoked ones too, oldest first.
 *
 * @param last only keys that were created after it
 * @throws RefusedError for an unknown account
 */
export async function listKeys(sql: Sql, accountId: string, last?: ApiKey): Promise<ApiKey[]> {
  await requireAccount(sql, accountId);
  const behind =
    last && sql`AND (created_at, id) > (SELECT created_at, id FROM api_keys WHERE id = ${last.id})`;
  return sql<ApiKey[]>`
    SELECT ${keyColumns(sql)} FROM api_keys WHERE account_id = ${accountId} ${behind ?? sql``}
    ORDER BY created_at, id LIMIT ${KEYS_AT_A_TIME}`;
}

/** The columns of an {@link ApiKey}. */
export const keyColumns = (sql: Sql | Transaction) => sql`
  id, name, is_test AS test, is_connection AS connection, start, created_at AS created, revoked_at AS revoked, expires_at AS expires,
  (SELECT max(until) FROM api_key_previous_secrets WHERE key_id = api_keys.id AND now() < until) AS "previousUntil",
  ${limitColumns(sql)}`;

type LockedKey = Pick<ApiKey, 'name' | 'test' | 'connection' | 'revoked' | 'expires'> & { accountId: string };

/** A key, locked: changes of one key queue up. @throws RefusedError when there is none, or a secret was given for an id */
export async function lockKey(sql: Transaction, id: string): Promise<LockedKey> {
  if (id.startsWith(KEY_PREFIX)) {
    throw new RefusedError(
      "that is a key's secret, or its beginning: ids begin with key_, and `key list ACCOUNT` shows them",
    );
  }
  const [key] = await sql<LockedKey[]>`
    SELECT account_id AS "accountId", name, is_test AS test, is_connection AS connection, revoked_at AS revoked, expires_at AS expires
    FROM api_keys WHERE id = ${id} FOR UPDATE`;
  if (key === undefined) throw unknownKey(id);
  return key;
}

export const unknownKey = (id: string) =>
  new RefusedError(`there is no key ${JSON.stringify(id)}: see \`key list ACCOUNT\``);

/** @throws RefusedError for a connection, whose tokens and end are its client's */
export function refuseConnection(id: string, { connection }: LockedKey): void {
  if (connection)
    throw new RefusedError(`the key ${id} is a connection: its client renews it, and \`key revoke\` ends it`);
}

/** @throws RefusedError for an end that is not in the future */
export async function refusePast(sql: Transaction, expires: Date | null): Promise<void> {
  if (expires !== null && expires <= (await clock(sql)))
    throw new RefusedError(`a key can't expire at ${expires.toISOString()}: that is not in the future`);
}

/** @throws RefusedError for a test key with a budget */
export function refuseBudgetOf({ test }: Pick<ApiKey, 'test'>, budget: Budget | null | undefined): void {
  if (test && budget) throw new RefusedError('a test key spends no credits, so it can have no budget');
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
  return sql.begin((sql) => revokeKeyIn(sql, id, actor));
}

/** {@link revokeKey} within the caller's transaction. */
export async function revokeKeyIn(sql: Transaction, id: string, actor: Actor) {
  const { accountId, revoked } = await lockKey(sql, id);
  if (revoked !== null) return { id, revoked };
  const rows = await sql<{ revoked: Date }[]>`
    UPDATE api_keys SET revoked_at = now() WHERE id = ${id} RETURNING revoked_at AS revoked`;
  await sql`DELETE FROM api_key_previous_secrets WHERE key_id = ${id}`;
  await recordEvent(sql, accountId, { kind: 'key-revoked', actor, detail: { key: id } });
  return { id, revoked: only(rows).revoked };
}
