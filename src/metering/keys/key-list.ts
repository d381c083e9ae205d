import type { Sql } from '../../platform/postgres/connect.ts';
import { type ApiKey, keyColumns } from './key-store.ts';

/** A key with its use. */
export interface ListedKey extends ApiKey {
  /** To the minute, of any of its secrets (src/metering/notes/counts.ts); `null` means never. */
  lastUsed: Date | null;
  /** Whether it works, and was not used for {@link IDLE_DAYS}. */
  isIdle: boolean;
}

const IDLE_DAYS = 90;

const lastUsed = (sql: Sql) => sql`
  (SELECT max(used_at) FROM api_key_uses WHERE secret_sha256 IN (
    SELECT api_keys.secret_sha256
    UNION ALL SELECT p.secret_sha256 FROM api_key_previous_secrets p WHERE p.key_id = api_keys.id))`;

const isIdle = (sql: Sql) => {
  const isBefore = sql`< now() - ${IDLE_DAYS} * interval '1 day'`;
  return sql`(ends_at > now() AND created_at ${isBefore} AND coalesce(${lastUsed(sql)} ${isBefore}, true))`;
};

/** The columns of a {@link ListedKey}. */
const listedColumns = (sql: Sql) =>
  sql`${keyColumns(sql)}, ${lastUsed(sql)} AS "lastUsed", ${isIdle(sql)} AS "isIdle"`;

/** Keys of one kind that {@link pageOfKeys} returns at most. */
const PAGE = { active: 100, ended: 50 };

/** The states that a list of keys can be narrowed to. `idle` and `ending` are of keys that work. */
export const KEY_STATES = ['all', 'ending', 'idle', 'ended'] as const;

export interface KeyFilter {
  /** The id of a key: only keys that were created before it are active ones of the page. */
  before?: string | null;
  /** A part of the key's name, or the beginning of its secret. */
  text?: string;
  state?: (typeof KEY_STATES)[number];
}

/** A text is sought in so many of the keys that ended last, because their number has no bound. */
const SOUGHT_ENDED = 5000;

/**
 * The account's keys without its connections, narrowed by a filter.
 * @returns the latest keys that work, or those that were created before the given one; those that were revoked or expired last; and of
 * both whether there are more that were created or ended earlier
 */
export async function pageOfKeys(sql: Sql, accountId: string, filter: KeyFilter = {}) {
  const { before = null, text = '', state = 'all' } = filter;
  const matching = sql`
    (${text} = '' OR strpos(lower(name), lower(${text})) > 0 OR starts_with(start, ${text}))`;
  const inState = {
    all: sql`true`,
    ending: sql`ends_at < now() + interval '7 days'`,
    idle: sql`${isIdle(sql)}`,
    ended: sql`false`,
  }[state];
  const [active, ended] = await Promise.all([
    sql<ListedKey[]>`
      SELECT ${listedColumns(sql)}
      FROM (SELECT * FROM api_keys WHERE account_id = ${accountId} AND ends_at > now() AND NOT is_connection OFFSET 0) AS api_keys
      WHERE ${matching} AND ${inState}
        AND (${before}::text IS NULL
          OR (created_at, id) < (SELECT created_at, id FROM api_keys WHERE id = ${before} AND account_id = ${accountId}))
      ORDER BY created_at DESC, id DESC LIMIT ${PAGE.active + 1}`,
    sql<ListedKey[]>`
      SELECT ${listedColumns(sql)}
      FROM (SELECT * FROM api_keys WHERE account_id = ${accountId} AND ends_at <= now() AND NOT is_connection ORDER BY ends_at DESC, id DESC
        LIMIT ${text === '' ? PAGE.ended + 1 : SOUGHT_ENDED}) AS api_keys
      WHERE ${matching} AND ${['all', 'ended'].includes(state)}
      ORDER BY ends_at DESC, id DESC LIMIT ${PAGE.ended + 1}`,
  ]);
  return {
    active: active.slice(0, PAGE.active),
    hasOlder: active.length > PAGE.active,
    ended: ended.slice(0, PAGE.ended),
    hasMoreEnded: ended.length > PAGE.ended,
  };
}

/** A key as a list of names has it. */
export type NamedKey = Pick<ApiKey, 'id' | 'name'>;

/** The account's keys with these ids, also those that have ended, and connections. */
export function namedKeys(sql: Sql, accountId: string, ids: string[]): Promise<NamedKey[]> {
  return sql<NamedKey[]>`
    SELECT id, name FROM api_keys WHERE account_id = ${accountId} AND id = ANY (${ids}::text[])`;
}

/** The keys of the first page of {@link pageOfKeys}, the latest first, then those that ended last, then {@link listConnections}. */
export function keysToChoose(sql: Sql, accountId: string): Promise<NamedKey[]> {
  return sql<NamedKey[]>`
    WITH active AS MATERIALIZED (
      SELECT id, name, created_at, is_connection FROM api_keys WHERE account_id = ${accountId} AND ends_at > now())
    SELECT id, name FROM (
      (SELECT 1 AS part, created_at AS at, id, name FROM active WHERE NOT is_connection
        ORDER BY at DESC, id DESC LIMIT ${PAGE.active})
      UNION ALL
      (SELECT 2, ends_at, id, name FROM api_keys WHERE account_id = ${accountId} AND ends_at <= now() AND NOT is_connection
        ORDER BY ends_at DESC, id DESC LIMIT ${PAGE.ended})
      UNION ALL
      SELECT 3, created_at, id, name FROM active WHERE is_connection
    ) AS keys ORDER BY part, at DESC, id DESC`;
}

/** One key of the account; `null` when the account has no such key. */
export async function findKey(sql: Sql, accountId: string, id: string): Promise<ListedKey | null> {
  const [key] = await sql<ListedKey[]>`
    SELECT ${listedColumns(sql)} FROM api_keys WHERE id = ${id} AND account_id = ${accountId}`;
  return key ?? null;
}

/** The connections of the account that work, the latest first. There are at most 50 (src/metering/connections). */
export async function listConnections(sql: Sql, accountId: string): Promise<ListedKey[]> {
  return sql<ListedKey[]>`
    SELECT ${listedColumns(sql)} FROM api_keys WHERE account_id = ${accountId} AND ends_at > now() AND is_connection
    ORDER BY created_at DESC, id DESC`;
}
