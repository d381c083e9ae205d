import { ACCOUNT_CHANGED } from '../accounts/store.ts';
import { within } from '../deadline.ts';
import { SENT_AT_ONCE, type Sql } from '../postgres/connect.ts';
import { SECOND } from '../units.ts';
import { hashSecret, isWellFormedSecret, SECRET_LENGTH } from './secret.ts';

/** Whoever a valid key speaks for. */
export interface Caller {
  keyId: string;
  accountId: string;
  /** Effective limit: the account's own, or its plan's. */
  requestsPerMinute: number;
}

export interface Authenticator {
  /**
   * The caller of an `Authorization` header; null when the header is missing or malformed, the key unknown or revoked,
   * or its account suspended: all of these are answered alike (contract, choice 2).
   *
   * @throws when Postgres could not be asked (problem `authentication-failed`)
   */
  authenticate(authorization: string | null): Promise<Caller | null>;
  close(): Promise<void>;
}

/**
 * How long an answer of Postgres is relied on where the notification of a change gets lost. Revocation, suspension,
 * plan and limits are in force within 5 seconds on every instance (contract, Command line).
 */
const KNOWN_LIFE_MS = 4 * SECOND;
/** A key that doesn't exist may exist soon: a stream of guesses still costs one query a second each. */
const UNKNOWN_LIFE_MS = 1 * SECOND;
const MAX_KNOWN = 50_000;
const MAX_UNKNOWN = 10_000;
const QUERY_TIMEOUT_MS = 2 * SECOND;
/** The scheme is matched without regard to case (contract, choice 2). */
const BEARER = /^bearer +([^ ]+) *$/i;

interface Entry {
  caller: Caller | null;
  untilMs: number;
}

/** @param nowMs a monotonic clock, for tests */
export async function createAuthenticator(sql: Sql, nowMs = () => performance.now()): Promise<Authenticator> {
  // By SHA-256, so that no secret stays in memory longer than its request.
  const known = new Map<string, Entry>();
  const unknown = new Map<string, Entry>();
  const asking = new Map<string, Promise<Caller | null>>();
  // Counts the changes heard of: an answer that was asked for before one may be from before it, and is not kept.
  let changes = 0;

  function forgetAccount(accountId: string): void {
    changes += 1;
    unknown.clear();
    for (const [hash, { caller }] of known) if (caller?.accountId === accountId) known.delete(hash);
  }

  function forgetAll(): void {
    changes += 1;
    unknown.clear();
    known.clear();
  }

  // After a reconnection notifications may have been missed: `onlisten` runs then too.
  const listening = await within(
    sql.listen(ACCOUNT_CHANGED, forgetAccount, forgetAll),
    QUERY_TIMEOUT_MS,
    'Postgres',
  );

  function remember(hash: string, caller: Caller | null, askedAtMs: number): void {
    const [cache, life, max] =
      caller === null ? [unknown, UNKNOWN_LIFE_MS, MAX_UNKNOWN] : [known, KNOWN_LIFE_MS, MAX_KNOWN];
    if (cache.size >= max) cache.delete(cache.keys().next().value as string);
    cache.set(hash, { caller, untilMs: askedAtMs + life });
  }

  async function ask(hash: string, digest: Buffer): Promise<Caller | null> {
    const askedAtMs = nowMs();
    const before = changes;
    const [row] = await within(findCaller(sql, digest), QUERY_TIMEOUT_MS, 'Postgres');
    const caller = row ?? null;
    if (before === changes) remember(hash, caller, askedAtMs);
    return caller;
  }

  async function authenticate(authorization: string | null): Promise<Caller | null> {
    const secret = authorization === null ? undefined : BEARER.exec(authorization)?.[1];
    if (secret === undefined || secret.length !== SECRET_LENGTH) return null;
    const hash = hashSecret(secret, 'base64');
    const entry = known.get(hash) ?? unknown.get(hash);
    if (entry !== undefined) {
      if (nowMs() < entry.untilMs) return entry.caller;
      known.delete(hash);
      unknown.delete(hash);
    }
    // Here, not before: what is in the caches has been looked at.
    if (!isWellFormedSecret(secret)) return null;
    let answer = asking.get(hash);
    if (answer === undefined) {
      answer = ask(hash, Buffer.from(hash, 'base64')).finally(() => asking.delete(hash));
      asking.set(hash, answer);
    }
    return answer;
  }

  return { authenticate, close: () => listening.unlisten() };
}

function findCaller(sql: Sql, digest: Buffer) {
  return sql<Caller[]>`
    SELECT k.id AS "keyId", a.id AS "accountId",
      coalesce(a.requests_per_minute, plans.requests_per_minute) AS "requestsPerMinute"
    FROM api_keys k
    JOIN accounts a ON a.id = k.account_id
    JOIN balances b ON b.account_id = a.id
    JOIN plans ON plans.name =
      CASE WHEN b.plan = 'plus' AND (b.plus_until IS NULL OR now() < b.plus_until) THEN 'plus' ELSE 'free' END
    WHERE k.secret_sha256 = ${digest} AND k.revoked_at IS NULL AND a.suspended_at IS NULL
      AND ${SENT_AT_ONCE}::text IS NOT NULL`;
}
