import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type Redis from 'ioredis';
import { MAX_REQUESTS_PER_MINUTE, UNITS_PER_TOKEN, unitsNow } from '../../src/rate-limit/bucket.ts';
import type { RateLimiter } from '../../src/rate-limit/limiter.ts';
import { connectRedis, createRedisRateLimiter } from '../../src/rate-limit/redis.ts';
import { testServers } from '../support/database.ts';
import { limiterSuite } from './limiter-suite.ts';

let redis: Redis;
let limiter: RateLimiter;
const fallbacks: unknown[] = [];

beforeAll(async () => {
  redis = await connected(testServers().redisUrl);
  limiter = createRedisRateLimiter(redis, { onFallback: (error) => fallbacks.push(error) });
});
afterAll(() => {
  redis.disconnect();
  // None of these tests may have been decided by the process's own buckets.
  expect(fallbacks).toEqual([]);
});

async function connected(url: string): Promise<Redis> {
  const redis = connectRedis(url);
  await new Promise<void>((resolve) => redis.once('ready', () => resolve()));
  return redis;
}

const newAccount = () => `acc_${randomUUID()}`;

describe('buckets in Redis', () => {
  limiterSuite({ limiter: () => limiter, pass: (ms) => Bun.sleep(ms), toleranceUs: 1_000_000 });
});

describe('the script', () => {
  type Script = { takeTokens(keys: number, ...args: (string | number)[]): Promise<(string | number)[]> };
  const run = (...args: (string | number)[]) => (redis as unknown as Script).takeTokens(1, ...args);

  test('computes what bucket.ts computes, to the unit, by the clock that it answers', async () => {
    const key = `bucket:${newAccount()}`;
    const limits = fc.oneof(
      fc.integer({ min: 1, max: 6000 }),
      fc.integer({ min: 1, max: MAX_REQUESTS_PER_MINUTE }),
    );
    const elapsed = fc.oneof(
      fc.integer({ min: 0, max: 5_000_000 }),
      fc.integer({ min: -1_000_000, max: 120_000_000 }),
    );
    const cases = fc.record({
      limit: limits,
      before: limits,
      fill: fc.double({ min: 0, max: 1.5, noNaN: true }),
      elapsed,
      wanted: fc.integer({ min: 0, max: 70 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ limit, before: limitBefore, fill, elapsed, wanted }) => {
        const [seconds, micros] = await redis.time();
        const state = {
          units: Math.floor(fill * limit * UNITS_PER_TOKEN),
          atUs: Number(seconds) * 1_000_000 + Number(micros) - elapsed,
          limit: limitBefore,
        };
        await redis.del(key); // with the expiry that the case before has given it
        await redis.hset(key, {
          units: String(state.units),
          at: String(state.atUs),
          limit: String(state.limit),
        });
        const [now, given, units] = (await run(key, limit, wanted)).map(Number);
        const before = unitsNow(state, limit, now!);
        const expected = Math.min(wanted, Math.floor(before / UNITS_PER_TOKEN));
        expect([given, units]).toEqual([expected, before - expected * UNITS_PER_TOKEN]);
        if (wanted === 0) return;
        expect(await redis.hmget(key, 'units', 'at', 'limit')).toEqual([units, now, limit].map(String));
      }),
      { numRuns: 500 },
    );
    await redis.del(key);
  });

  test('the key goes after a minute, which fills any bucket; a full one is what its absence means', async () => {
    for (const limit of [20, 6000]) {
      const account = newAccount();
      await limiter.take(account, limit);
      const ttlMs = await redis.pttl(`bucket:${account}`);
      expect(ttlMs).toBeGreaterThan(58_000);
      expect(ttlMs).toBeLessThanOrEqual(60_000);
    }
  });

  test('a bucket that is full again keeps just its tokens when the limit is raised', async () => {
    const account = newAccount();
    await limiter.take(account, 6000);
    await Bun.sleep(50);
    const { remaining } = await limiter.take(account, 60_000);
    expect(remaining).toBeGreaterThanOrEqual(5998);
    expect(remaining).toBeLessThan(8000); // two seconds at the new rate
  });

  test('a key of another kind by the name of a bucket goes, and disturbs no other bucket', async () => {
    const [odd, other] = [newAccount(), newAccount()];
    await redis.set(`bucket:${odd}`, 'text');
    const decisions = await Promise.all([limiter.take(odd, 20), limiter.take(other, 20)]);
    for (const decision of decisions) expect(decision).toMatchObject({ admitted: true, remaining: 19 });
    expect(await redis.type(`bucket:${odd}`)).toBe('hash');
    expect(await redis.type(`bucket:${other}`)).toBe('hash');
  });

  test('looking at a bucket leaves no key', async () => {
    const account = newAccount();
    await limiter.peek(account, 20);
    expect(await redis.exists(`bucket:${account}`)).toBe(0);
  });

  test('is loaded again after Redis has forgotten it', async () => {
    const account = newAccount();
    await limiter.take(account, 20);
    await redis.script('FLUSH');
    expect(await limiter.take(account, 20)).toMatchObject({ admitted: true, remaining: 18 });
  });

  test('many accounts and takers in one turn of the event loop each get their own', async () => {
    const accounts = Array.from({ length: 50 }, newAccount);
    const decisions = await Promise.all(
      accounts.flatMap((account, index) =>
        Array.from({ length: 8 }, async () => ({ index, ...(await limiter.take(account, 1 + (index % 7))) })),
      ),
    );
    const admitted = accounts.map(
      (_, at) => decisions.filter(({ index, admitted }) => index === at && admitted).length,
    );
    expect(admitted).toEqual(accounts.map((_, index) => 1 + (index % 7)));
  });
});

test('two instances share one bucket', async () => {
  const other = await connected(testServers().redisUrl);
  try {
    const otherLimiter = createRedisRateLimiter(other);
    const account = newAccount();
    const remaining = [];
    for (let call = 0; call < 3; call += 1) {
      remaining.push(
        (await limiter.take(account, 5)).remaining,
        (await otherLimiter.take(account, 5)).remaining,
      );
    }
    expect(remaining).toEqual([4, 3, 2, 1, 0, 0]);
    const together = newAccount();
    const decisions = await Promise.all(
      Array.from({ length: 40 }, (_, call) => (call % 2 === 0 ? limiter : otherLimiter).take(together, 30)),
    );
    expect(decisions.filter(({ admitted }) => admitted)).toHaveLength(30);
  } finally {
    other.disconnect();
  }
});
