import { expect, test } from 'bun:test';
import { rateLimitHeaders, retryAfterS } from '../../../src/metering/admission/refusals.ts';
import { decide, UNITS_PER_TOKEN } from '../../../src/metering/rate-limit/bucket.ts';

const AT_S = 1_800_000_000;
const at = (fractionUs: number) => AT_S * 1_000_000 + fractionUs;

test('with tokens left, Reset is now, in whole seconds', () => {
  const decision = decide(true, 7.5 * UNITS_PER_TOKEN, 20, at(0));
  expect(rateLimitHeaders(decision)).toEqual({
    'RateLimit-Limit': '20',
    'RateLimit-Remaining': '7',
    'RateLimit-Reset': String(AT_S),
    'RateLimit-Policy': '20;w=60',
  });
  expect(rateLimitHeaders(decide(true, UNITS_PER_TOKEN, 20, at(1)))['RateLimit-Reset']).toBe(
    String(AT_S + 1),
  );
});

test('without one, Reset and Retry-After say when it is there, never too early', () => {
  // 20 a minute: a token takes 3 s; a quarter of one is there, so 2.25 s are left.
  const decision = decide(false, UNITS_PER_TOKEN / 4, 20, at(500_000));
  expect(decision.waitUs).toBe(2_250_000);
  expect(retryAfterS(decision)).toBe(3);
  expect(rateLimitHeaders(decision)['RateLimit-Reset']).toBe(String(AT_S + 3)); // 2.75 s later
  expect(rateLimitHeaders(decision)['RateLimit-Remaining']).toBe('0');
});

test('Retry-After is at least one second', () => {
  expect(retryAfterS(decide(false, UNITS_PER_TOKEN - 1, 6000, at(0)))).toBe(1);
  expect(retryAfterS(decide(false, 0, 60, at(0)))).toBe(1);
  expect(retryAfterS(decide(false, 0, 1, at(0)))).toBe(60);
});
