import { describe, expect, test } from 'bun:test';
import { createEmptyBuckets } from '../../../src/metering/rate-limit/empty-buckets.ts';
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
      limiter.lower(new Map([['a', { units: 0, limit }]]));
      const refused = await limiter.take('a', limit);
      expect(refused).toEqual({
        taken: false,
        limit,
        remaining: 0,
        waitUs: Math.ceil(60_000_000 / limit),
        nowUs,
      });
      nowUs += refused.waitUs - 1;
      expect((await limiter.take('a', limit)).taken).toBe(false);
      nowUs += 1;
      expect((await limiter.take('a', limit)).taken).toBe(true);
    }
  });

  test('a minute of steady use is worth exactly the limit, wherever it begins', async () => {
    let nowUs = START_US + 31_415_926;
    const limiter = createProcessRateLimiter(() => nowUs);
    limiter.lower(new Map([['a', { units: 0, limit: 60 }]]));
    let taken = 0;
    for (let step = 0; step < 60_000; step += 1) {
      nowUs += 1000;
      if ((await limiter.take('a', 60)).taken) taken += 1;
    }
    expect(taken).toBe(60);
  });

  test('a clock that goes back takes no tokens and gives none', async () => {
    let nowUs = START_US;
    const limiter = createProcessRateLimiter(() => nowUs);
    await limiter.take('a', 10);
    nowUs -= 3_600_000_000;
    expect((await limiter.take('a', 10)).remaining).toBe(8);
  });
});

describe('memory', () => {
  test('buckets that have been left alone for a minute are dropped: they are full', async () => {
    let nowUs = START_US;
    const limiter = createProcessRateLimiter(() => nowUs);
    for (let account = 0; account < 1000; account += 1) await limiter.take(`acc_${account}`, 1);
    expect(limiter.size).toBe(1000);
    nowUs += 60_000_000;
    expect(await limiter.take('acc_7', 1)).toMatchObject({ taken: true, remaining: 0 });
    expect(limiter.size).toBe(1);
  });

  test('a bucket that is in use is kept', async () => {
    let nowUs = START_US;
    const limiter = createProcessRateLimiter(() => nowUs);
    await limiter.take('busy', 1);
    nowUs += 59_000_000;
    await limiter.take('busy', 1);
    nowUs += 1_500_000;
    expect((await limiter.take('busy', 1)).taken).toBe(true);
    expect((await limiter.take('busy', 1)).taken).toBe(false);
  });
});

const NOW_US = Date.UTC(2026, 0, 1) * 1000;

const emptyOf = (limit: number) => ({ units: 0, atUs: NOW_US, limit });

function refusalsAt(startMs: number) {
  const clock = { nowMs: startMs };
  return { clock, refusals: createEmptyBuckets(() => clock.nowMs) };
}

test('a refusal ends when the token is due, counted from the question', () => {
  const { clock, refusals } = refusalsAt(1000);
  refusals.remember('a', emptyOf(60), 900); // a token a second
  expect(refusals.find([{ id: 'a', limit: 60 }])).toEqual({
    taken: false,
    limit: 60,
    remaining: 0,
    waitUs: 900_000,
    nowUs: NOW_US + 100_000,
  });
  clock.nowMs = 1899;
  expect(refusals.find([{ id: 'a', limit: 60 }])).toMatchObject({ waitUs: 1000, nowUs: NOW_US + 999_000 });
  clock.nowMs = 1900;
  expect(refusals.find([{ id: 'a', limit: 60 }])).toBeNull();
});

test('Redis is asked again after five seconds, however far away the token is', () => {
  const { clock, refusals } = refusalsAt(0);
  refusals.remember('a', emptyOf(1), 0); // a token a minute
  clock.nowMs = 4999;
  expect(refusals.find([{ id: 'a', limit: 1 }])).toMatchObject({ waitUs: 55_001_000 });
  clock.nowMs = 5000;
  expect(refusals.find([{ id: 'a', limit: 1 }])).toBeNull();
});

test('a caller with another limit, and another account, are asked about', () => {
  const { refusals } = refusalsAt(0);
  refusals.remember('a', emptyOf(20), 0);
  expect(refusals.find([{ id: 'b', limit: 20 }])).toBeNull();
  expect(refusals.find([{ id: 'a', limit: 60 }])).toBeNull();
});
