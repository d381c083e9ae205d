import { describe, expect, test } from 'bun:test';
import { rateLimitHeaders, retryAfterS } from '../../../src/metering/admission/refusals.ts';
import { decide, UNITS_PER_TOKEN } from '../../../src/metering/rate-limit/bucket.ts';
import { createProcessRateLimiter } from '../../../src/metering/rate-limit/process.ts';
import { limiterSuite } from './limiter-suite.ts';

const START_US = Date.UTC(2026, 0, 1) * 1000;

describe('buckets in the process', () => {
  let nowUs = START_US;
  const limiter = createProcessRateLimiter(() => nowUs);
  limiterSuite({
    limiter: () => limiter,
    pass: async (ms) => {
      nowUs += ms * 1000;
    },
    toleranceUs: 0,
  });
});

describe('to the microsecond', () => {
  test('a token is there after exactly a minute divided by the limit', async () => {
    for (const limit of [1, 7, 20, 60, 6000, 10_000_000]) {
      let nowUs = START_US;
      const limiter = createProcessRateLimiter(() => nowUs);
      // A bucket that has just been emptied.
      limiter.lower(new Map([['a', { units: 0, limit }]]), nowUs, nowUs);
      const refused = await limiter.take('a', limit);
      const waitUs = Math.ceil(60_000_000 / limit);
      expect(refused).toEqual({ taken: false, limit, remaining: 0, waitUs, nowUs });
      nowUs += refused.waitUs - 1;
      expect((await limiter.take('a', limit)).taken).toBe(false);
      nowUs += 1;
      expect((await limiter.take('a', limit)).taken).toBe(true);
    }
  });

  test('a minute of steady use is worth exactly the limit, wherever it begins', async () => {
    let nowUs = START_US + 31_415_926;
    const limiter = createProcessRateLimiter(() => nowUs);
    limiter.lower(new Map([['a', { units: 0, limit: 60 }]]), nowUs, nowUs);
    let taken = 0;
    for (let step = 0; step < 60_000; step += 1) {
      nowUs += 1000;
      if ((await limiter.take('a', 60)).taken) taken += 1;
    }
    expect(taken).toBe(60);
  });
});

test('buckets that have been left alone for a minute are dropped: they are full, and those in use are kept', async () => {
  let nowUs = START_US;
  const limiter = createProcessRateLimiter(() => nowUs);
  for (let account = 0; account < 1000; account += 1) await limiter.take(`acc_${account}`, 1);
  expect(limiter.size).toBe(1000);
  nowUs += 59_000_000;
  expect(await limiter.take('acc_8', 1)).toMatchObject({ taken: false });
  nowUs += 1_000_000;
  expect(await limiter.take('acc_7', 1)).toMatchObject({ taken: true, remaining: 0 });
  expect(limiter.size).toBe(2);
});

test('Redis is asked again after five seconds, however far away the token of an empty bucket is', () => {
  let nowUs = START_US;
  const limiter = createProcessRateLimiter(() => nowUs);
  const bucket = { id: 'a', limit: 1 }; // a token a minute
  limiter.lower(new Map([['a', { units: 0, limit: 1 }]]), 0, nowUs);
  nowUs = START_US + 4_999_000;
  expect(limiter.refusal([bucket])).toMatchObject({ nowUs: 4_999_000, waitUs: 55_001_000 });
  nowUs = START_US + 5_000_000;
  expect(limiter.refusal([bucket])).toBeNull();
});

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
  const later = rateLimitHeaders(decide(true, UNITS_PER_TOKEN, 20, at(1)));
  expect(later['RateLimit-Reset']).toBe(String(AT_S + 1));
});

// 20 a minute: a token takes 3 s. If a quarter of one is there, 2.25 s are left, and 2.75 s to the end of the whole second.
test.each([
  ['say when it is there, never too early', UNITS_PER_TOKEN / 4, 20, 500_000, 2_250_000, 3, 3],
  ['are one second at least', UNITS_PER_TOKEN - 1, 6000, 0, 1, 1, 1],
  ['are a second for a token a second', 0, 60, 0, 1_000_000, 1, 1],
  ['are a minute for a token a minute', 0, 1, 0, 60_000_000, 60, 60],
])('without one, Reset and Retry-After %s', (_, units, limit, fractionUs, waitUs, retryS, resetS) => {
  const decision = decide(false, units, limit, at(fractionUs));
  expect([decision.waitUs, retryAfterS(decision)]).toEqual([waitUs, retryS]);
  const headers = { 'RateLimit-Reset': String(AT_S + resetS), 'RateLimit-Remaining': '0' };
  expect(rateLimitHeaders(decision)).toMatchObject(headers);
});
