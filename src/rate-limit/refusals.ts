import { SECOND } from '../units.ts';
import type { RateDecision } from './bucket.ts';

/** Buckets that Redis has just called empty: until the next token is due, a refusal needs no question. */
export interface Refusals {
  /**
   * Remembers an empty bucket.
   * @param askedAtMs when Redis was asked (`performance.now()`), so that the wait ends early rather than late
   */
  remember(accountId: string, decision: RateDecision, askedAtMs: number): void;
  /** The refusal of a request now; `null` means that Redis has to be asked. */
  find(accountId: string, limit: number): RateDecision | null;
}

interface Refusal {
  limit: number;
  /** `performance.now()` */
  askAgainMs: number;
  tokenAtMs: number;
  /** The same moment by Redis's clock, Unix time in microseconds. */
  tokenAtUs: number;
}

/** An answer of Redis counts for this long at most: other instances may have learnt of another limit meanwhile. */
const TRUST_MS = 5 * SECOND;
const MAX_REMEMBERED = 10_000;

/**
 * Exact, because nothing but time fills a bucket: it has no token before the wait that Redis has told is over. A caller with
 * another limit than that of the refusal is asked about again.
 *
 * @param nowMs a monotonic clock, for tests
 */
export function createRefusals(nowMs = () => performance.now()): Refusals {
  const refusals = new Map<string, Refusal>();
  return {
    remember(accountId, { limit, nowUs, waitUs }, askedAtMs) {
      if (refusals.size >= MAX_REMEMBERED) refusals.clear();
      const tokenAtMs = askedAtMs + waitUs / 1000;
      const askAgainMs = Math.min(tokenAtMs, askedAtMs + TRUST_MS);
      refusals.set(accountId, { limit, askAgainMs, tokenAtMs, tokenAtUs: nowUs + waitUs });
    },
    find(accountId, limit) {
      const refusal = refusals.get(accountId);
      if (refusal === undefined) return null;
      const now = nowMs();
      if (refusal.limit !== limit || now >= refusal.askAgainMs) {
        refusals.delete(accountId);
        return null;
      }
      const waitUs = Math.ceil((refusal.tokenAtMs - now) * 1000);
      return { admitted: false, limit, remaining: 0, waitUs, nowUs: refusal.tokenAtUs - waitUs };
    },
  };
}
