import { MINUTE } from '../units.ts';

/**
 * The token bucket's arithmetic (specification, Rate limit): capacity equals the requests per minute, refilled
 * continuously at that rate, one token a request.
 *
 * In whole numbers, so that nothing is lost to rounding: one token is 60,000,000 units, so that a bucket of `limit`
 * requests a minute gains exactly `limit` units a microsecond. take.lua is the same algorithm inside Redis.
 */
export const UNITS_PER_TOKEN = MINUTE * 1000;

/** Requests per minute at most: a full bucket's units stay far below 2^53. */
export const MAX_REQUESTS_PER_MINUTE = 10_000_000;

/** A bucket as it is kept: how full it was when, and the limit at that time. */
export interface BucketState {
  units: number;
  atUs: number;
  limit: number;
}

/** What the admission attempt said. */
export interface RateDecision {
  admitted: boolean;
  /** Capacity, requests per minute. */
  limit: number;
  /** Whole tokens left afterwards. */
  remaining: number;
  /** Microseconds until a token is there; 0 when one already is. */
  waitUs: number;
  /** The clock by which it was decided, Unix time in microseconds. */
  nowUs: number;
}

/**
 * How full a bucket is now; null is full. It keeps its tokens when the limit changes, capped at the new capacity. When
 * within the time since it was last used that was isn't known: of the two rates the higher counts, so that nobody loses
 * what the old one had given.
 */
export function unitsNow(state: BucketState | null, limit: number, nowUs: number): number {
  const capacity = limit * UNITS_PER_TOKEN;
  if (state === null) return capacity;
  const elapsedUs = Math.min(Math.max(nowUs - state.atUs, 0), UNITS_PER_TOKEN);
  return Math.min(capacity, state.units + elapsedUs * Math.max(limit, state.limit));
}

/** Takes a token if there is one. */
export function takeToken(
  state: BucketState | null,
  limit: number,
  nowUs: number,
): { state: BucketState; decision: RateDecision } {
  let units = unitsNow(state, limit, nowUs);
  const admitted = units >= UNITS_PER_TOKEN;
  if (admitted) units -= UNITS_PER_TOKEN;
  return { state: { units, atUs: nowUs, limit }, decision: decide(admitted, units, limit, nowUs) };
}

/** The decision that leaves a bucket with so many units. */
export function decide(admitted: boolean, units: number, limit: number, nowUs: number): RateDecision {
  const remaining = Math.floor(units / UNITS_PER_TOKEN);
  const waitUs = remaining > 0 ? 0 : Math.ceil((UNITS_PER_TOKEN - units) / limit);
  return { admitted, limit, remaining, waitUs, nowUs };
}
