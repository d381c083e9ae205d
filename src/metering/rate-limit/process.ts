import { MINUTE } from '../../platform/units.ts';
import { type Bucket, type BucketState, takeOfEach, unitsNow } from './bucket.ts';

/**
 * Buckets in this process, for a service without Redis, and while Redis is away.
 * @param nowUs a clock that never goes back, microseconds since 1970
 */
export function createProcessRateLimiter(nowUs: () => number = steadyUnixUs) {
  const buckets = new Map<string, BucketState>();
  let nextSweepUs = 0;

  /** Removes buckets that were not used for a minute. They are full again, as an absent bucket is. */
  function sweep(now: number): void {
    if (now < nextSweepUs) return;
    nextSweepUs = now + MINUTE * 1000;
    for (const [id, state] of buckets) if (now - state.atUs >= MINUTE * 1000) buckets.delete(id);
  }

  return {
    async take(accountId: string, limit: number, shares: readonly Bucket[] | null = null) {
      const now = nowUs();
      sweep(now);
      const states = [{ id: accountId, limit }, ...(shares ?? [])].map(({ id, limit }) => {
        const state = { units: unitsNow(buckets.get(id) ?? null, limit, now), atUs: now, limit };
        buckets.set(id, state);
        return state;
      });
      return takeOfEach(states, now);
    },
    /** Lowers buckets to Redis's units. It never raises one, because only time fills the process's buckets. */
    lower(left: Map<string, { units: number; limit: number }>): void {
      const now = nowUs();
      sweep(now);
      for (const [id, { units, limit }] of left) {
        const own = buckets.get(id);
        const lower = own === undefined ? units : Math.min(unitsNow(own, limit, now), units);
        buckets.set(id, { units: lower, atUs: now, limit });
      }
    },
    /** The number of buckets in memory. */
    get size() {
      return buckets.size;
    },
  };
}

/** Does not follow steps of the system's clock while the process runs. */
function steadyUnixUs(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000);
}
