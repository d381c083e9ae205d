import type { RateDecision } from './bucket.ts';

/** Token buckets, one an account. */
export interface RateLimiter {
  /**
   * Takes a token from the account's bucket if there is one. Never fails: it always says yes or no.
   *
   * @param limit capacity and refill, requests per minute
   */
  take(accountId: string, limit: number): Promise<RateDecision>;
  /** How the account's bucket stands, without taking anything; `admitted` says whether `take` would have. */
  peek(accountId: string, limit: number): Promise<RateDecision>;
}
