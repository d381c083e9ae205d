import { monotonicUnixMs } from '../runtime/clock.ts';
import { MINUTE } from '../units.ts';
import { type BucketState, decide, takeToken, UNITS_PER_TOKEN, unitsNow } from './bucket.ts';
import type { RateLimiter } from './limiter.ts';

/** Buckets in this process: all there is without Redis, and what takes over while Redis is away. */
export interface ProcessRateLimiter extends RateLimiter {
  /** Lowers buckets to what Redis says of them. It never raises one: only time fills the process's own buckets. */
  lower(buckets: Map<string, { units: number; limit: number }>): void;
  /** How many buckets are held. */
  readonly size: number;
}

/** @param nowUs a clock that never goes back, microseconds since 1970 */
export function createProcessRateLimiter(nowUs: () => number = steadyUnixUs): ProcessRateLimiter {
  const buckets = new Map<string, BucketState>();
  let nextSweepUs = 0;

  /** A bucket untouched for a minute is full again, and full is what an absent bucket is. */
  function sweep(now: number): void {
    if (now < nextSweepUs) return;
    nextSweepUs = now + MINUTE * 1000;
    for (const [id, state] of buckets) if (now - state.atUs >= MINUTE * 1000) buckets.delete(id);
  }

  return {
    async take(accountId, limit) {
      const now = nowUs();
      sweep(now);
      const { state, decision } = takeToken(buckets.get(accountId) ?? null, limit, now);
      buckets.set(accountId, state);
      return decision;
    },
    async peek(accountId, limit) {
      const now = nowUs();
      const units = unitsNow(buckets.get(accountId) ?? null, limit, now);
      return decide(units >= UNITS_PER_TOKEN, units, limit, now);
    },
    lower(said) {
      const now = nowUs();
      sweep(now);
      for (const [accountId, { units, limit }] of said) {
        const own = buckets.get(accountId);
        const left = own === undefined ? units : Math.min(unitsNow(own, limit, now), units);
        buckets.set(accountId, { units: left, atUs: now, limit });
      }
    },
    get size() {
      return buckets.size;
    },
  };
}

function steadyUnixUs(): number {
  return Math.floor(monotonicUnixMs() * 1000);
}
