/**
 * Connections: keys that agents got by a member's sign-in. They work at `/mcp` alone, until a member ends them or nobody uses them.
 * `tokens.ts` has the secrets of their clients.
 */
import { RefusedError } from '../../platform/errors.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { DAY, MINUTE, SECOND } from '../../platform/units.ts';
import { lockAccount, requireAccount } from '../accounts/account-store.ts';
import { recordEvent } from '../accounts/events.ts';
import { clock } from '../accounts/plan.ts';
import { insertKey } from '../keys/key-store.ts';
import type { KeyLimits } from '../keys/limits.ts';
import { generateSecret, hashSecret } from '../keys/secret.ts';

/** Connections that an account may have at the same time. */
export const MAX_CONNECTIONS = 50;

/** A code is exchanged within this time, or its connection has ended. */
const CODE_MS = MINUTE;

/** A connection ends this long after its latest refresh. */
export const IDLE_S = (30 * DAY) / SECOND;

/** The account has {@link MAX_CONNECTIONS}. */
export class TooManyConnectionsError extends RefusedError {}

/** The facts of a connection beside its key. */
export interface Connection {
  clientId: string;
  /** As the client calls itself. */
  clientName: string;
  redirectUri: string;
  /** The id of the user who consented. */
  memberId: string;
}

export interface NewConnection extends Connection {
  accountId: string;
  /** The key's name. */
  name: string;
  /** The S256 of the client's verifier. */
  challenge: string;
  /** The client gets it by way of the browser. Each request for a connection has its own. */
  code: string;
  limits: KeyLimits;
}

/**
 * Creates a connection, which ends after {@link CODE_MS} unless its client exchanges the code. A consent that is sent twice creates one.
 *
 * @returns the id of its key; `null` if an earlier sending of the consent created it and it is in use, has ended or is another member's
 * @throws TooManyConnectionsError when the account has too many
 * @throws RefusedError for a suspended account, and a user who is no member of it any more
 */
export async function createConnection(sql: Sql, connection: NewConnection) {
  const { accountId, memberId, clientId, clientName, name, redirectUri, challenge, code, limits } =
    connection;
  return sql.begin(async (sql) => {
    // A removal of the member takes the same lock, so it ends this connection or this finds no member.
    await lockAccount(sql, accountId);
    const [known] = await sql<{ id: string; isOpen: boolean }[]>`
      SELECT id, code_used_at IS NULL AND ends_at > clock_timestamp() AND member_id = ${memberId} AS "isOpen"
      FROM connections JOIN api_keys ON id = key_id WHERE code_sha256 = ${hashSecret(code)}`;
    if (known !== undefined) return known.isOpen ? { id: known.id, isNew: false } : null;
    const { suspended } = await requireAccount(sql, accountId);
    if (suspended) throw new RefusedError('the account is suspended');
    const members = await sql`
      SELECT 1 FROM account_members WHERE account_id = ${accountId} AND user_id = ${memberId}`;
    if (members.length === 0) throw new RefusedError('the user is no member of the account');
    const active = await sql`
      SELECT 1 FROM api_keys WHERE account_id = ${accountId} AND ends_at > now() AND is_connection`;
    if (active.length >= MAX_CONNECTIONS)
      throw new TooManyConnectionsError(`the account has ${MAX_CONNECTIONS} connections: end one first`);
    const expires = new Date((await clock(sql)).getTime() + CODE_MS);
    const key = { accountId, name, secret: generateSecret(), expires, isConnection: true };
    const id = await insertKey(sql, key, limits);
    await sql`
      INSERT INTO connections (key_id, account_id, member_id, client_id, client_name, redirect_uri, code_sha256, challenge)
      VALUES (${id}, ${accountId}, ${memberId}, ${clientId}, ${clientName}, ${redirectUri}, ${hashSecret(code)}, ${challenge})`;
    const detail = { key: id, client: name };
    await recordEvent(sql, accountId, { kind: 'connection-created', actor: `dashboard:${memberId}`, detail });
    return { id, isNew: true };
  });
}

/** Locks the keys of an account's connections, for a change that ends some of them: keys are locked before their account. */
export async function lockConnections(sql: Transaction, accountId: string): Promise<void> {
  await sql`
    SELECT 1 FROM api_keys WHERE account_id = ${accountId} AND ends_at > now() AND is_connection
    ORDER BY id FOR UPDATE`;
}

/** @returns `null` if the key is no connection */
export async function findConnection(sql: Sql, id: string): Promise<Connection | null> {
  const [connection] = await sql<Connection[]>`
    SELECT client_id AS "clientId", client_name AS "clientName", redirect_uri AS "redirectUri", member_id AS "memberId"
    FROM connections WHERE key_id = ${id}`;
  return connection ?? null;
}
