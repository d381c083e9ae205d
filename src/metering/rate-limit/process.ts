import { MINUTE, SECOND } from '../../platform/units.ts';
import {
  type Bucket,
  type BucketState,
  decide,
  type RateDecision,
  takeOfEach,
  tightest,
  UNITS_PER_TOKEN,
  unitsNow,
} from './bucket.ts';

/** An answer of Redis counts for this long at most: other instances may have learnt of another limit meanwhile. */
const TRUST_US = 5 * SECOND * 1000;

interface OwnBucket extends BucketState {
  /** The bucket in Redis, if that has just called it empty. `atUs` is of Redis's clock, `askedUs` of this process's. */
  empty?: (BucketState & { askedUs: number }) | undefined;
}

/**
 * Buckets in this process, for a service without Redis, and while Redis is away.
 * @param nowUs a clock that never goes back, microseconds since 1970
 */
export function createProcessRateLimiter(nowUs: () => number = steadyUnixUs) {
  const buckets = new Map<string, OwnBucket>();
  let nextSweepUs = 0;

  /** Removes buckets that were not used for a minute. They are full again, as an absent bucket is. */
  function sweep(now: number): void {
    if (now < nextSweepUs) return;
    nextSweepUs = now + MINUTE * 1000;
    for (const [id, state] of buckets) if (now - state.atUs >= MINUTE * 1000) buckets.delete(id);
  }

  function refusalBy({ id, limit }: Bucket): RateDecision | null {
    const empty = buckets.get(id)?.empty;
    if (empty?.limit !== limit) return null;
    const ageUs = nowUs() - empty.askedUs;
    const units = unitsNow(empty, limit, empty.atUs + ageUs);
    const isKnown = ageUs < TRUST_US && units < UNITS_PER_TOKEN;
    return isKnown ? decide(false, units, limit, empty.atUs + ageUs) : null;
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
    /**
     * Lowers buckets to Redis's units. It never raises one, because only time fills the process's buckets.
     * @param atUs Redis's clock @param askedUs when Redis was asked, so that a wait ends early rather than late
     */
    lower(left: Map<string, { units: number; limit: number }>, atUs: number, askedUs: number): void {
      const now = nowUs();
      sweep(now);
      for (const [id, { units, limit }] of left) {
        const own = buckets.get(id);
        const lower = own === undefined ? units : Math.min(unitsNow(own, limit, now), units);
        const empty = units < UNITS_PER_TOKEN ? { units, atUs, limit, askedUs } : undefined;
        buckets.set(id, { units: lower, atUs: now, limit, empty });
      }
    },
    /**
     * The refusal of a request now, if Redis has just called one of its buckets empty; `null` means that Redis has to be asked. It is
     * exact, because nothing but time fills a bucket. A caller with another limit than the bucket's is asked about again.
     */
    refusal(request: Bucket[]): RateDecision | null {
      const refusals = request.map(refusalBy);
      const known = refusals.find((refusal) => refusal !== null);
      if (known === undefined) return null;
      // Of the other buckets nothing is known, so they refuse nothing.
      const full = ({ limit }: Bucket) => decide(false, limit * UNITS_PER_TOKEN, limit, known.nowUs);
      return tightest(refusals.map((refusal, index) => refusal ?? full(request[index]!)));
    },
    /** The number of buckets in memory. */
    get size() {
      return buckets.size;
    },
  };
}

/** Microseconds since 1970. Does not follow steps of the system's clock while the process runs. */
export function steadyUnixUs(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000);
}
