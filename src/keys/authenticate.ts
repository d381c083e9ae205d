/**
 * API keys: `secret.ts` makes and hashes secrets, `store.ts` and `rotate.ts` change keys, and this file finds the caller of a
 * secret. A caller is cached for 4 s and dropped when Postgres notifies a change of its account. Only hashes are stored.
 */
import { ACCOUNT_CHANGED } from '../accounts/events.ts';
import { textArray } from '../postgres/arrays.ts';
import type { Sql } from '../postgres/connect.ts';
import { createBatcher } from '../runtime/batch.ts';
import { batchTotals } from '../runtime/batch-totals.ts';
import { type Bound, withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';
import { hashSecret, isWellFormedSecret, SECRET_LENGTH } from './secret.ts';

export interface Caller {
  keyId: string;
  accountId: string;
  /** The account's own limit, or its plan's. */
  requestsPerMinute: number;
}

export interface Authenticator {
  /**
   * The caller of a key's secret ({@link bearerSecret}); `null` when the key is malformed, unknown, revoked or expired, when
   * the secret was replaced and its overlap is over, or when the account is suspended. All are answered alike (contract: 401).
   *
   * @throws OverloadedError when the secret queued too long for Postgres, or this process is too busy
   * @throws another error when Postgres could not be asked (problem `authentication-failed`)
   */
  authenticate(secret: string): Promise<Caller | null>;
  close(): Promise<void>;
}

/**
 * TTL of a cached caller if the notification of a change gets lost. Revocation, suspension, plan and limits are in force
 * within 5 seconds on every instance (contract: command line).
 */
const CACHE_TTL_MS = 4 * SECOND;
/** TTL of an unknown key, which may exist soon. Repeating a guess costs one query a second. */
const UNKNOWN_TTL_MS = 1 * SECOND;
const MAX_KNOWN = 50_000;
const MAX_UNKNOWN = 10_000;
/**
 * Refresh-ahead: a key in use is reloaded this long before its cache entry expires. The query also reloads the other keys
 * in use that expire in that window, so 1,000 active keys cost one query every few seconds.
 */
const REFRESH_AHEAD_MS = 2 * SECOND;
const MAX_TAKEN_ALONG = 500;
const LISTEN_TIMEOUT_MS = 2 * SECOND;
/** Two in flight, so that one silent connection doesn't delay every key. */
const BATCHES = { name: 'Postgres', totals: batchTotals.key, maxConcurrentBatches: 2 } as const;
/** The scheme is matched without regard to case (contract: 401). */
const BEARER = /^bearer +([^ ]+) *$/i;

interface KnownKey {
  caller: Caller;
  /** The answer is used until then: the TTL, or the end of the secret if that comes first. */
  untilMs: number;
  /** In the order of `known`, which `untilMs` is not. */
  refreshAtMs: number;
  /** Used since it was loaded. */
  isUsed: boolean;
  isRefreshing: boolean;
}

/** The answer of Postgres about a secret. */
interface Answer {
  caller: Caller | null;
  /** Milliseconds until the key expires or the overlap of a previous secret ends; `null` if neither happens. */
  endsInMs: number | null;
}

const NOBODY: Answer = { caller: null, endsInMs: null };

/** Notifications that arrived while a query was in flight. Its answer may be older than these changes. */
interface Overlap {
  /** Accounts. */
  changed: Set<string>;
  /** Notifications may have been missed. */
  allChanged: boolean;
}

/** @param nowMs a monotonic clock, for tests */
export async function createAuthenticator(sql: Sql, nowMs = () => performance.now()): Promise<Authenticator> {
  // By SHA-256, so that no secret stays in memory longer than its request. In the order in which they were loaded.
  const known = new Map<string, KnownKey>();
  /** The hashes in `known` by account, so that the cost of a change depends only on its account's keys. */
  const hashesOf = new Map<string, Set<string>>();
  /** The instant until which each hash is refused without a query. */
  const unknown = new Map<string, number>();
  const ask = createBatcher(askAll, BATCHES);
  /** Queries in flight, each with the accounts that changed since it was sent. */
  const inFlight = new Set<Overlap>();

  function forget(hash: string): void {
    const accountId = known.get(hash)?.caller.accountId;
    if (accountId === undefined) return;
    known.delete(hash);
    const hashes = hashesOf.get(accountId)!;
    hashes.delete(hash);
    if (hashes.size === 0) hashesOf.delete(accountId);
  }

  /** Refused keys have no known account, so they stay refused until their TTL ends. */
  function forgetAccount(accountId: string): void {
    for (const overlap of inFlight) overlap.changed.add(accountId);
    for (const hash of [...(hashesOf.get(accountId) ?? [])]) forget(hash);
  }

  function forgetAll(): void {
    for (const overlap of inFlight) overlap.allChanged = true;
    unknown.clear();
    known.clear();
    hashesOf.clear();
  }

  // `onlisten` also runs after a reconnection, when notifications may have been missed.
  const listening = await withTimeout(
    sql.listen(ACCOUNT_CHANGED, forgetAccount, forgetAll),
    LISTEN_TIMEOUT_MS,
    'Postgres',
  );

  function remember(hash: string, { caller, endsInMs }: Answer, askedAtMs: number): void {
    forget(hash);
    unknown.delete(hash);
    if (caller === null) {
      if (unknown.size >= MAX_UNKNOWN) unknown.delete(oldestOf(unknown));
      unknown.set(hash, askedAtMs + UNKNOWN_TTL_MS);
    } else {
      if (known.size >= MAX_KNOWN) forget(oldestOf(known));
      const hashes = hashesOf.get(caller.accountId);
      if (hashes === undefined) hashesOf.set(caller.accountId, new Set([hash]));
      else hashes.add(hash);
      known.set(hash, {
        caller,
        // Counted from before the query, so that the entry expires early rather than late. Then Postgres's clock decides.
        untilMs: askedAtMs + Math.min(CACHE_TTL_MS, endsInMs ?? CACHE_TTL_MS),
        refreshAtMs: askedAtMs + CACHE_TTL_MS - REFRESH_AHEAD_MS,
        isUsed: false,
        isRefreshing: false,
      });
    }
  }

  /** Keys in use that are due for a reload. Expired entries are dropped, because no request has used them. */
  function* dueForRefresh(): Generator<string> {
    let left = MAX_TAKEN_ALONG;
    const now = nowMs();
    for (const [hash, entry] of known) {
      if (left === 0 || entry.refreshAtMs > now) return;
      if (entry.untilMs <= now) forget(hash);
      else if (entry.isUsed && !entry.isRefreshing) {
        left -= 1;
        entry.isRefreshing = true;
        yield hash;
      }
    }
  }

  async function askAll(hashes: string[], bound: Bound): Promise<(Caller | null)[]> {
    const asked = new Set([...hashes, ...dueForRefresh()]);
    const askedAtMs = nowMs();
    const overlap: Overlap = { changed: new Set(), allChanged: false };
    inFlight.add(overlap);
    let rows: Awaited<ReturnType<typeof callersQuery>>;
    try {
      rows = await bound(callersQuery(sql, [...asked]));
    } finally {
      inFlight.delete(overlap);
    }
    const answers = new Map(
      rows.map(({ hash, endsInMs, ...caller }): [string, Answer] => [hash, { caller, endsInMs }]),
    );
    for (const hash of asked) {
      const answer = answers.get(hash) ?? NOBODY;
      if (!mayBeStale(answer.caller, overlap)) remember(hash, answer, askedAtMs);
    }
    return hashes.map((hash) => answers.get(hash)?.caller ?? null);
  }

  /** The cached caller; `null` means refused, `undefined` means that Postgres must be asked. */
  function readCache(hash: string): Caller | null | undefined {
    const entry = known.get(hash);
    const now = nowMs();
    if (entry === undefined || now >= entry.untilMs) return now < (unknown.get(hash) ?? 0) ? null : undefined;
    entry.isUsed = true;
    if (now >= entry.refreshAtMs && !entry.isRefreshing) {
      entry.isRefreshing = true;
      // If it fails, the first request after the entry expires asks again and gets the error.
      ask(hash).catch(() => {});
    }
    return entry.caller;
  }

  async function authenticate(secret: string): Promise<Caller | null> {
    const hash = hashSecret(secret, 'base64');
    const caller = readCache(hash);
    if (caller !== undefined) return caller;
    // Checked after the caches, because a cached secret is well formed.
    if (!isWellFormedSecret(secret)) return null;
    return ask(hash);
  }

  return { authenticate, close: () => listening.unlisten() };
}

/** Whether the answer may be older than a change of its account. Then it serves the current request and is not cached. */
function mayBeStale(caller: Caller | null, { changed, allChanged }: Overlap): boolean {
  return allChanged || (caller !== null && changed.has(caller.accountId));
}

/**
 * The callers of these secrets, by their SHA-256 in base64. A secret without a caller has no row. One statement reads current
 * and previous secrets, so that it sees a rotation either whole or not at all.
 */
function callersQuery(sql: Sql, hashes: string[]) {
  return sql<({ hash: string; endsInMs: number | null } & Caller)[]>`
    SELECT asked.hash, k.id AS "keyId", a.id AS "accountId",
      coalesce(a.requests_per_minute, plans.requests_per_minute) AS "requestsPerMinute",
      (extract(epoch FROM least(k.expires_at, secret.until) - now()) * 1000)::float8 AS "endsInMs"
    FROM unnest(${textArray(hashes)}::text[]) AS asked (hash)
    CROSS JOIN LATERAL (
      SELECT id AS key_id, NULL::timestamptz AS until FROM api_keys
      WHERE secret_sha256 = decode(asked.hash, 'base64')
      UNION ALL
      SELECT key_id, until FROM api_key_previous_secrets
      WHERE secret_sha256 = decode(asked.hash, 'base64') AND now() < until
    ) AS secret
    JOIN api_keys k ON k.id = secret.key_id
    JOIN accounts a ON a.id = k.account_id
    JOIN balances b ON b.account_id = a.id
    JOIN plans ON plans.name =
      CASE WHEN b.plan = 'plus' AND (b.plus_until IS NULL OR now() < b.plus_until) THEN 'plus' ELSE 'free' END
    WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR now() < k.expires_at) AND a.suspended_at IS NULL`;
}

/** The secret of an `Authorization: Bearer` header; `null` when the header has no secret of a key's length. */
export function bearerSecret(authorization: string | null): string | null {
  const secret = authorization === null ? undefined : BEARER.exec(authorization)?.[1];
  return secret?.length === SECRET_LENGTH ? secret : null;
}

function oldestOf(map: Map<string, unknown>): string {
  return map.keys().next().value as string;
}
