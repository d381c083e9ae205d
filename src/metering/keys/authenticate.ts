/**
 * API keys: `secret.ts` makes and hashes secrets, `key-store.ts` and `rotate.ts` change keys, and this file finds the caller of a
 * secret. A caller is cached for 4 s and dropped when Postgres notifies a change of its account. Only hashes are stored.
 */

import type { Trace } from '../../http/observe.ts';
import type { Right } from '../../http/right.ts';
import { answerOf, READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';
import { ACCOUNT_CHANGED } from '../accounts/events.ts';
import type { Plan } from '../accounts/plan.ts';
import type { Bucket } from '../rate-limit/bucket.ts';
import type { Budget } from './limits.ts';
import { hashSecret, isWellFormedSecret } from './secret.ts';

export interface Caller {
  keyId: string;
  accountId: string;
  /** The effective plan. */
  plan: Plan;
  /** The account's own limit, or its plan's. */
  requestsPerMinute: number;
  /** Whether the key is a test key: answered from a fixed world, and nothing is charged or counted. */
  isTest: boolean;
  /** The rights of the key; `null` means all. */
  only: Right[] | null;
  /** Its budget, so that charges look it up; `null` means none. The budget in Postgres counts, not this one. */
  budget: Budget | null;
  /** Buckets below the account's that its requests take a token of, too (docs/members.md: limits of a key). */
  shares?: Bucket[] | null;
}

/** Called for each request. Both only count in memory, because every request waits for them. */
export interface KeyWatch {
  /** A secret was accepted. @param hash its SHA-256 in base64 */
  used(hash: string): void;
  /**
   * The key of a refused secret: it is revoked or expired, the secret was replaced, or the account is suspended. Keys that ended
   * over 30 days ago share the id {@link LONG_ENDED_KEYS}. Not called for test keys, of which no error is counted.
   */
  refused(key: Pick<Caller, 'keyId' | 'accountId'>, trace: Trace): void;
}

/** The id that keys share once they ended over 30 days ago. Their counts of refusals would grow with every key that ever was. */
const LONG_ENDED_KEYS = 'ended';

export type Authenticator = Awaited<ReturnType<typeof createAuthenticator>>;

/**
 * TTL of a cached caller if the notification of a change gets lost. Revocation, suspension, plan and limits are in force
 * within 5 seconds on every instance (docs/commands.md).
 */
const CACHE_TTL_MS = 4 * SECOND;
/** TTL of an unknown key, which may exist soon. Repeating a guess costs one query a second. */
const UNKNOWN_TTL_MS = 1 * SECOND;
const MAX_KNOWN = 50_000;
const MAX_UNKNOWN = 10_000;
/** Accounts whose latest change is kept. One more counts as a change of every account. */
const MAX_CHANGED = 10_000;
/**
 * A query also loads keys in use anew that were loaded this long ago. So 1,000 keys in use cost a few queries every few seconds; with one
 * for each that ends, 13% fewer lookups were answered over 64 connections.
 */
const TAKEN_ALONG_AFTER_MS = CACHE_TTL_MS / 2;
const MAX_ASKED = 500;
/** The scheme is matched without regard to case (docs/api.md: 401). */
const BEARER = /^bearer +/i;

interface KnownKey {
  caller: Caller;
  /** Whether the secret is an access token of a connection. */
  isConnection: boolean;
  /** The SHA-256 that its uses are noted under: that of the secret, or for a connection that of the key. */
  usedAs: string;
  /** The answer is used until then: the TTL, or the end of the secret if that comes first. */
  untilMs: number;
  askedAtMs: number;
  /** The number of notifications that had arrived when Postgres was asked. */
  askedAtChange: number;
  /** Whether a request has found it here since Postgres was last asked for it. */
  isUsed: boolean;
}

/** @param nowMs a monotonic clock, for tests */
export async function createAuthenticator(
  sql: Sql,
  watch: KeyWatch = { used() {}, refused() {} },
  nowMs = () => performance.now(),
) {
  // By SHA-256, so that no secret stays in memory longer than its request. In the order in which they were loaded.
  const known = new Map<string, KnownKey>();
  /** Hashes that are refused without a query until an instant. `key` is the key that the secret belonged to; `null` means none. */
  const unknown = new Map<string, { untilMs: number; key: Caller | null }>();
  const ask = createBatcher(askAll, { ...READS, stage: 'key' });

  // An answer is used only if no change of its account was notified since Postgres was asked, because it may have been read
  // before that change. Notifications are numbered, so that the order does not depend on a clock's precision.
  let changes = 0;
  let allChangedAt = 0;
  /** The number of each account's latest change. */
  const changedAt = new Map<string, number>();

  function accountChanged(accountId: string): void {
    if (changedAt.size >= MAX_CHANGED) allChanged();
    changes += 1;
    changedAt.set(accountId, changes);
  }

  function allChanged(): void {
    changes += 1;
    allChangedAt = changes;
    changedAt.clear();
  }

  function isCurrent({ caller, askedAtChange }: KnownKey): boolean {
    return askedAtChange >= allChangedAt && askedAtChange >= (changedAt.get(caller.accountId) ?? 0);
  }

  // `onlisten` also runs after a reconnection, when notifications may have been missed.
  const listening = await answerOf(sql.listen(ACCOUNT_CHANGED, accountChanged, allChanged));

  async function askAll(hashes: string[], bound: Bound): Promise<(KnownKey | null)[]> {
    const askedAtMs = nowMs();
    const asked = new Set(hashes);
    for (const [hash, entry] of known) {
      if (asked.size >= MAX_ASKED || entry.askedAtMs > askedAtMs - TAKEN_ALONG_AFTER_MS) break;
      if (entry.isUsed) {
        asked.add(hash);
        // So that neither a query beside this one nor one after its failure asks again.
        entry.isUsed = false;
      } else if (entry.untilMs <= askedAtMs) known.delete(hash);
    }
    const askedAtChange = changes;
    const rows = new Map((await bound(callersQuery(sql, [...asked]))).map((row) => [row.hash, row]));
    for (const hash of asked) {
      known.delete(hash);
      unknown.delete(hash);
      const row = rows.get(hash);
      if (row === undefined || row.isRefused) {
        keep(unknown, MAX_UNKNOWN, hash, { untilMs: askedAtMs + UNKNOWN_TTL_MS, key: row ?? null });
        continue;
      }
      const { hash: _, isRefused: __, endsInMs, isConnection, usedAs, ...caller } = row;
      // Counted from before the query, so that the entry expires early rather than late. Then Postgres's clock decides.
      const untilMs = askedAtMs + Math.min(CACHE_TTL_MS, endsInMs ?? CACHE_TTL_MS);
      const entry = { caller, isConnection, usedAs, untilMs, askedAtMs, askedAtChange, isUsed: false };
      keep(known, MAX_KNOWN, hash, entry);
    }
    return hashes.map((hash) => known.get(hash) ?? null);
  }

  /** The cached key; `null` means refused, `undefined` means that Postgres must be asked. */
  function readCache(hash: string): KnownKey | null | undefined {
    const entry = known.get(hash);
    const now = nowMs();
    if (entry !== undefined && now < entry.untilMs && isCurrent(entry)) {
      entry.isUsed = true;
      return entry;
    }
    return now < (unknown.get(hash)?.untilMs ?? 0) ? null : undefined;
  }

  return {
    /**
     * The caller of a key's secret ({@link bearerToken}). `null` means that the key is malformed, unknown, revoked or expired, that
     * the overlap of a replaced secret is over, or that the account is suspended. All are answered alike (docs/api.md: 401).
     *
     * @param trace of the request
     * @param takesConnections whether an access token of a connection is accepted, too
     * @throws OverloadedError when the secret queued too long for Postgres, or this process is too busy
     * @throws another error when Postgres could not be asked (problem `authentication-failed`)
     */
    async authenticate(secret: string, trace: Trace = {}, takesConnections = false): Promise<Caller | null> {
      const hash = hashSecret(secret).toString('base64');
      let entry = readCache(hash);
      // Checked after the caches, because a cached secret is well formed.
      if (entry === undefined) entry = isWellFormedSecret(secret) ? await ask(hash) : null;
      if (entry === null) {
        const key = unknown.get(hash)?.key;
        if (key?.isTest === false) watch.refused(key, trace);
        return null;
      }
      if (entry.isConnection && !takesConnections) return null;
      watch.used(entry.usedAs);
      return entry.caller;
    },
    close: (): Promise<void> => listening.unlisten(),
  };
}

type CallerRow = Caller &
  Pick<KnownKey, 'isConnection' | 'usedAs'> & { hash: string; endsInMs: number | null; isRefused: boolean };

/**
 * The callers of these secrets, by their SHA-256 in base64. A secret that never was a key's has no row. `isRefused` means that the
 * key has ended, that the secret was replaced, or that the account is suspended. One statement reads current and previous secrets, so
 * that it sees a rotation either whole or not at all. An access token that has expired has no row, because its client then
 * refreshes it. `endsInMs` is `null` if neither the key expires nor the overlap of a previous secret ends.
 */
function callersQuery(sql: Sql, hashes: string[]) {
  return sql<CallerRow[]>`
    SELECT asked.hash, secret.is_connection AS "isConnection",
      CASE WHEN secret.is_connection THEN encode(k.secret_sha256, 'base64') ELSE asked.hash END AS "usedAs",
      CASE WHEN k.ends_at < now() - interval '30 days' THEN ${LONG_ENDED_KEYS} ELSE k.id END AS "keyId",
      a.id AS "accountId", plans.name AS plan,
      coalesce(a.requests_per_minute, plans.requests_per_minute) AS "requestsPerMinute", k.is_test AS "isTest",
      k.rights AS "only",
      (SELECT json_build_object('credits', included_credits, 'per', per)
        FROM counters WHERE id = k.id AND included_credits IS NOT NULL) AS budget,
      (SELECT json_agg(json_build_object('id', share.id, 'limit', share.rate)) FROM (VALUES
        (k.id, k.requests_per_minute),
        (a.id || ':connections', CASE WHEN k.shares_rate THEN (coalesce(a.requests_per_minute, plans.requests_per_minute) + 1) / 2 END)
        ) AS share (id, rate) WHERE share.rate IS NOT NULL) AS shares,
      (extract(epoch FROM least(k.expires_at, secret.until) - now()) * 1000)::float8 AS "endsInMs",
      (now() >= least(k.ends_at, secret.until) OR a.suspended_at IS NOT NULL) AS "isRefused"
    FROM unnest(${hashes}::text[]) AS asked (hash)
    CROSS JOIN LATERAL (
      SELECT id AS key_id, NULL::timestamptz AS until, false AS is_connection FROM api_keys
      WHERE secret_sha256 = decode(asked.hash, 'base64')
      UNION ALL
      SELECT key_id, until, false FROM api_key_previous_secrets
      WHERE secret_sha256 = decode(asked.hash, 'base64')
      UNION ALL
      SELECT key_id, until, true FROM connection_tokens
      WHERE secret_sha256 = decode(asked.hash, 'base64') AND until > now()
    ) AS secret
    JOIN api_keys k ON k.id = secret.key_id
    JOIN accounts a ON a.id = k.account_id
    JOIN counters b ON b.id = a.id
    JOIN plans ON plans.name =
      CASE WHEN b.plan = 'plus' AND (b.plus_until IS NULL OR now() < b.plus_until) THEN 'plus' ELSE 'free' END`;
}

/** The token of an `Authorization: Bearer` header; `null` means that there is no header of that form. */
export function bearerToken(authorization: string | null): string | null {
  const [scheme] = BEARER.exec(authorization ?? '') ?? [];
  // Not by an expression: one that ends in blanks takes the square of a long header's length.
  return (scheme && authorization!.slice(scheme.length).trimEnd()) || null;
}

/** Adds an entry, in place of the oldest one if there are too many. */
function keep<Value>(map: Map<string, Value>, most: number, key: string, value: Value): void {
  if (map.size >= most) map.delete(map.keys().next().value!);
  map.set(key, value);
}
