import { SECOND } from '../../platform/units.ts';
import { type BucketState, decide, type RateDecision, UNITS_PER_TOKEN, unitsNow } from './bucket.ts';

/** An answer of Redis counts for this long at most: other instances may have learnt of another limit meanwhile. */
const TRUST_MS = 5 * SECOND;
const MAX_REMEMBERED = 10_000;

/**
 * Buckets that Redis has just called empty. Until the next token is due, a refusal needs no question. It is exact, because
 * nothing but time fills a bucket. A caller with another limit than the bucket's is asked about again.
 *
 * @param nowMs a monotonic clock, for tests
 */
export function createEmptyBuckets(nowMs = () => performance.now()) {
  const empty = new Map<string, { state: BucketState; askedAtMs: number }>();
  return {
    /**
     * Remembers an empty bucket.
     * @param askedAtMs when Redis was asked (`performance.now()`), so that the wait ends early rather than late
     */
    remember(accountId: string, state: BucketState, askedAtMs: number): void {
      if (empty.size >= MAX_REMEMBERED) empty.clear();
      empty.set(accountId, { state, askedAtMs });
    },
    /** The refusal of a request now; `null` means that Redis has to be asked. */
    find(accountId: string, limit: number): RateDecision | null {
      const found = empty.get(accountId);
      if (found === undefined) return null;
      const { state, askedAtMs } = found;
      const ageMs = nowMs() - askedAtMs;
      const nowUs = state.atUs + Math.ceil(ageMs * 1000);
      const units = unitsNow(state, limit, nowUs);
      if (limit === state.limit && ageMs < TRUST_MS && units < UNITS_PER_TOKEN) {
        return decide(false, units, limit, nowUs);
      }
      empty.delete(accountId);
      return null;
    },
  };
}
