import { SECOND } from '../../platform/units.ts';
import {
  type Bucket,
  type BucketState,
  decide,
  type RateDecision,
  tightest,
  UNITS_PER_TOKEN,
  unitsNow,
} from './bucket.ts';

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

  /** The refusal by a bucket now; `null` means that it is not known to be empty. */
  function refusalBy({ id, limit }: Bucket): RateDecision | null {
    const found = empty.get(id);
    if (found === undefined) return null;
    const { state, askedAtMs } = found;
    const ageMs = nowMs() - askedAtMs;
    const nowUs = state.atUs + Math.ceil(ageMs * 1000);
    const units = unitsNow(state, limit, nowUs);
    if (limit === state.limit && ageMs < TRUST_MS && units < UNITS_PER_TOKEN) {
      return decide(false, units, limit, nowUs);
    }
    empty.delete(id);
    return null;
  }

  return {
    /**
     * Remembers an empty bucket.
     * @param askedAtMs when Redis was asked (`performance.now()`), so that the wait ends early rather than late
     */
    remember(id: string, state: BucketState, askedAtMs: number): void {
      if (empty.size >= MAX_REMEMBERED) empty.clear();
      empty.set(id, { state, askedAtMs });
    },
    /** The refusal of a request now, if one of its buckets is known to be empty; `null` means that Redis has to be asked. */
    find(buckets: Bucket[]): RateDecision | null {
      const refusals = buckets.map(refusalBy);
      const known = refusals.find((refusal) => refusal !== null);
      if (known === undefined) return null;
      // Of the other buckets nothing is known, so they refuse nothing.
      const full = ({ limit }: Bucket) => decide(false, limit * UNITS_PER_TOKEN, limit, known.nowUs);
      return tightest(refusals.map((refusal, index) => refusal ?? full(buckets[index]!)));
    },
  };
}
