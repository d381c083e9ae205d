/**
 * The rate limit: `bucket.ts` has the arithmetic, `redis.ts` shares buckets by `take.lua`, `process.ts` keeps them in this process.
 * Only time fills a bucket of this process, so that a late or failing Redis never gives extra tokens.
 */
import type { RateDecision } from './bucket.ts';

/** Token buckets, one an account. */
export interface RateLimiter {
  /**
   * Takes a token from the account's bucket if there is one. It never fails.
   *
   * @param limit capacity and refill, requests per minute
   */
  take(accountId: string, limit: number): Promise<RateDecision>;
}
