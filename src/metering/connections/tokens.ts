/**
 * The secrets of a connection's client: a code once, then access tokens and refresh tokens. All have the form of a key, so that logs hide
 * them, and only their hashes are stored.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { HOUR, MINUTE, SECOND } from '../../platform/units.ts';
import type { Actor } from '../accounts/events.ts';
import { lockKey, revokeKeyIn } from '../keys/key-store.ts';
import { generateSecret, hashSecret, isWellFormedSecret } from '../keys/secret.ts';
import { clientHost } from './clients.ts';
import { type Connection, IDLE_S } from './connection-store.ts';

/** The life of an access token. */
export const ACCESS_S = HOUR / SECOND;

/** A refresh token may be used again within this time, because hosts refresh in bursts and lose answers. */
const REUSE_S = (2 * MINUTE) / SECOND;
const MAX_REUSES = 10;

/** Access tokens of a connection that work at the same time. */
const MAX_TOKENS = 60;

interface Tokens {
  access: string;
  refresh: string;
}

/** Tokens, or why there are none. `'too many'` means that the client has refreshed {@link MAX_TOKENS} times in an hour. */
export type Granted = Tokens | 'invalid' | 'too many';

interface CodeExchange {
  code: string;
  clientId: string;
  /** `null` means that it was not sent. */
  redirectUri: string | null;
  verifier: string;
}

/**
 * Exchanges a code for tokens. A second exchange with the right verifier revokes the connection, because two have the code.
 */
export async function exchangeCode(sql: Sql, exchange: CodeExchange): Promise<Granted> {
  const { code, clientId, redirectUri, verifier } = exchange;
  if (!isWellFormedSecret(code)) return 'invalid';
  return sql.begin(async (sql) => {
    const [found] = await sql<{ id: string }[]>`
      SELECT key_id AS id FROM connections WHERE code_sha256 = ${hashSecret(code)}`;
    if (found === undefined) return 'invalid';
    const connection = await lockConnection(sql, found.id);
    const isRight =
      connection.clientId === clientId &&
      (redirectUri === null || redirectUri === connection.redirectUri) &&
      isVerifier(verifier, connection.challenge);
    if (!isRight || !connection.isActive) return 'invalid';
    if (connection.isExchanged) return revoke(sql, connection);
    await sql`UPDATE connections SET code_used_at = now() WHERE key_id = ${found.id}`;
    return issue(sql, found.id, null);
  });
}

/**
 * Exchanges a refresh token for new tokens; access tokens that were issued before work on. A token that was used before gets further ones for
 * two minutes, and then its reuse revokes the connection. Tokens that were issued for one token are a generation, which is used when the first
 * of them is. So a thief and a client with a token each can't both go on.
 */
export async function refreshTokens(sql: Sql, token: string, clientId: string): Promise<Granted> {
  if (!isWellFormedSecret(token)) return 'invalid';
  return sql.begin(async (sql) => {
    const [found] = await sql<{ id: string }[]>`
      SELECT key_id AS id FROM connection_refresh_tokens WHERE secret_sha256 = ${hashSecret(token)}`;
    if (found === undefined) return 'invalid';
    const connection = await lockConnection(sql, found.id);
    if (connection.clientId !== clientId || !connection.isActive) return 'invalid';
    const [use] = await sql<{ isOld: boolean; uses: number; tokens: number; generation: Buffer }[]>`
      SELECT coalesce(clock_timestamp() > least(used_at, first_used_at) + ${REUSE_S} * interval '1 second', false) AS "isOld", uses,
        (SELECT count(*) FROM connection_tokens WHERE key_id = ${found.id} AND until > now()) AS tokens,
        coalesce(generation, secret_sha256) AS generation
      FROM connection_refresh_tokens t CROSS JOIN LATERAL (
        SELECT min(used_at) AS first_used_at FROM connection_refresh_tokens WHERE generation = t.generation) AS siblings
      WHERE secret_sha256 = ${hashSecret(token)}`;
    // Removed meanwhile, with its account.
    if (use === undefined) return 'invalid';
    if (use.isOld) return revoke(sql, connection);
    if (use.tokens >= MAX_TOKENS) return 'too many';
    if (use.uses > MAX_REUSES) return 'invalid';
    await sql`
      UPDATE connection_refresh_tokens SET used_at = coalesce(used_at, clock_timestamp()), uses = uses + 1
      WHERE secret_sha256 = ${hashSecret(token)}`;
    return issue(sql, found.id, hash('sha256', use.generation, 'buffer'));
  });
}

/** Ends the connection of an access token or a refresh token, used ones too. An unknown token ends nothing. */
export async function revokeByToken(sql: Sql, token: string): Promise<void> {
  if (!isWellFormedSecret(token)) return;
  await sql.begin(async (sql) => {
    const secretHash = hashSecret(token);
    const [found] = await sql<{ id: string }[]>`
      SELECT key_id AS id FROM connection_tokens WHERE secret_sha256 = ${secretHash}
      UNION ALL SELECT key_id FROM connection_refresh_tokens WHERE secret_sha256 = ${secretHash}`;
    if (found === undefined) return;
    const connection = await lockConnection(sql, found.id);
    // Also of a suspended account, which may be resumed.
    if (!connection.hasEnded) await revoke(sql, connection);
  });
}

interface LockedConnection extends Pick<Connection, 'clientId' | 'redirectUri'> {
  id: string;
  challenge: string;
  isExchanged: boolean;
  /** Whether its key has ended. */
  hasEnded: boolean;
  /** Whether it works: neither its key has ended nor is its account suspended. */
  isActive: boolean;
}

async function lockConnection(sql: Transaction, id: string): Promise<LockedConnection> {
  await lockKey(sql, id);
  // Read behind the lock, because the first statement may have waited for a change. `now()` is before that wait.
  const [connection] = await sql<LockedConnection[]>`
    SELECT k.id, client_id AS "clientId", redirect_uri AS "redirectUri", challenge, code_used_at IS NOT NULL AS "isExchanged",
      k.ends_at <= clock_timestamp() AS "hasEnded", k.ends_at > clock_timestamp() AND suspended_at IS NULL AS "isActive"
    FROM connections c JOIN api_keys k ON k.id = c.key_id JOIN accounts a ON a.id = k.account_id WHERE k.id = ${id}`;
  const none = { clientId: '', redirectUri: '', challenge: '', isExchanged: true };
  return connection ?? { id, ...none, hasEnded: true, isActive: false };
}

/** No event: the ledger would get one an hour. @param generation of the refresh token; `null` means that it has no siblings */
async function issue(sql: Transaction, id: string, generation: Buffer | null): Promise<Tokens> {
  const tokens = { access: generateSecret(), refresh: generateSecret() };
  await sql`DELETE FROM connection_tokens WHERE key_id = ${id} AND until <= now()`;
  await sql`
    INSERT INTO connection_tokens (secret_sha256, key_id, until)
    VALUES (${hashSecret(tokens.access)}, ${id}, clock_timestamp() + ${ACCESS_S} * interval '1 second')`;
  await sql`
    INSERT INTO connection_refresh_tokens (secret_sha256, key_id, generation)
    VALUES (${hashSecret(tokens.refresh)}, ${id}, ${generation})`;
  await sql`UPDATE api_keys SET expires_at = clock_timestamp() + ${IDLE_S} * interval '1 second' WHERE id = ${id}`;
  return tokens;
}

/** The client's host for the ledger. A client that has registered itself proves no host. */
const actorOf = (clientId: string): Actor => `client:${clientHost(clientId) ?? 'registered'}`;

async function revoke(sql: Transaction, { id, clientId }: LockedConnection): Promise<'invalid'> {
  await revokeKeyIn(sql, id, actorOf(clientId));
  return 'invalid';
}

function isVerifier(verifier: string, challenge: string): boolean {
  const made = Buffer.from(hash('sha256', verifier, 'base64url'));
  const known = Buffer.from(challenge);
  return made.length === known.length && timingSafeEqual(made, known);
}
