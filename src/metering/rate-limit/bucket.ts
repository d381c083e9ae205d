/**
 * The rate limit: this file has the arithmetic, `redis.ts` shares buckets by `take.lua`, `process.ts` keeps them in this process.
 * Only time fills a bucket of this process, so that a late or failing Redis adds at most one bucket in each process.
 */
import { MINUTE } from '../../platform/units.ts';

/**
 * The token bucket's arithmetic (specification, Rate limit): capacity equals the requests per minute, refilled
 * continuously at that rate, one token a request.
 *
 * Whole numbers lose nothing to rounding: one token is 60,000,000 units, so that a bucket of `limit` requests a minute gains
 * exactly `limit` units a microsecond. take.lua is the same algorithm inside Redis.
 */
export const UNITS_PER_TOKEN = MINUTE * 1000;

/** The most requests per minute, so that a full bucket's units stay far below 2^53. */
export const MAX_REQUESTS_PER_MINUTE = 10_000_000;

/** A stored bucket: its units, their instant, and the limit at that time. */
export interface BucketState {
  units: number;
  atUs: number;
  limit: number;
}

/** A bucket that a request needs a token of. */
export interface Bucket {
  id: string;
  /** Capacity and refill, requests per minute. */
  limit: number;
}

/** Token buckets: one an account, and below it those of its keys that have a share of its rate. */
export interface RateLimiter {
  /**
   * Takes a token of the account's bucket and of each share, if each has one; otherwise of none. It never fails.
   *
   * @param limit capacity and refill, requests per minute
   */
  take(accountId: string, limit: number, shares?: readonly Bucket[] | null): Promise<RateDecision>;
}

/** The outcome of an attempt to take a token, of several buckets the tightest of each value. */
export interface RateDecision {
  taken: boolean;
  /** Capacity, requests per minute. */
  limit: number;
  /** Whole tokens left afterwards. */
  remaining: number;
  /** Microseconds until a token is available; 0 if one already is. */
  waitUs: number;
  /** The instant of the decision, Unix time in microseconds. */
  nowUs: number;
  /** The account's bucket alone, if the request needed a token of others, too. */
  account?: RateDecision;
}

/**
 * The units of a bucket now; a `null` bucket is full. If the limit changes, the bucket keeps its tokens, capped at the new
 * capacity. The instant of the change is not known, so the higher of the two rates counts, and no caller loses tokens.
 */
export function unitsNow(state: BucketState | null, limit: number, nowUs: number): number {
  const capacity = limit * UNITS_PER_TOKEN;
  if (state === null) return capacity;
  const elapsedUs = Math.min(Math.max(nowUs - state.atUs, 0), UNITS_PER_TOKEN);
  return Math.min(capacity, state.units + elapsedUs * Math.max(limit, state.limit));
}

/** Takes a token of each bucket if each has one; otherwise none. The account's bucket is the first. */
export function takeOfEach(buckets: { units: number; limit: number }[], nowUs: number): RateDecision {
  const taken = buckets.every(({ units }) => units >= UNITS_PER_TOKEN);
  const decisions = buckets.map((bucket) => {
    if (taken) bucket.units -= UNITS_PER_TOKEN;
    return decide(taken, bucket.units, bucket.limit, nowUs);
  });
  return tightest(decisions);
}

/** The decision of a request by those of its buckets, of which the account's is the first. */
export function tightest(decisions: RateDecision[]): RateDecision {
  const account = decisions[0]!;
  if (decisions.length === 1) return account;
  return {
    ...account,
    limit: Math.min(...decisions.map(({ limit }) => limit)),
    remaining: Math.min(...decisions.map(({ remaining }) => remaining)),
    waitUs: Math.max(...decisions.map(({ waitUs }) => waitUs)),
    account,
  };
}

/** The decision that leaves a bucket with so many units. */
export function decide(taken: boolean, units: number, limit: number, nowUs: number): RateDecision {
  const remaining = Math.floor(units / UNITS_PER_TOKEN);
  const waitUs = remaining > 0 ? 0 : Math.ceil((UNITS_PER_TOKEN - units) / limit);
  return { taken, limit, remaining, waitUs, nowUs };
}
