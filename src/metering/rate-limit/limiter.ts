/**
 * The rate limit: `bucket.ts` has the arithmetic, `redis.ts` shares buckets by `take.lua`, `process.ts` keeps them in this process.
 * Only time fills a bucket of this process, so that a late or failing Redis adds at most one bucket in each process.
 */
import type { Bucket, RateDecision } from './bucket.ts';

/** Token buckets: one an account, and below it those of its keys that have a share of its rate. */
export interface RateLimiter {
  /**
   * Takes a token of the account's bucket and of each share, if each has one; otherwise of none. It never fails.
   *
   * @param limit capacity and refill, requests per minute
   */
  take(accountId: string, limit: number, shares?: readonly Bucket[] | null): Promise<RateDecision>;
}
