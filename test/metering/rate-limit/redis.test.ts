import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type Redis from 'ioredis';
import {
  MAX_REQUESTS_PER_MINUTE,
  type RateLimiter,
  UNITS_PER_TOKEN,
  unitsNow,
} from '../../../src/metering/rate-limit/bucket.ts';
import { createRedisRateLimiter } from '../../../src/metering/rate-limit/redis.ts';
import { redisUrl } from '../../support/redis.ts';
import { connected, limiterSuite } from './limiter-suite.ts';

let redis: Redis;
let limiter: RateLimiter;
const fallbacks: unknown[] = [];

beforeAll(async () => {
  redis = await connected(redisUrl);
  limiter = createRedisRateLimiter(redis, { onFallback: (error) => fallbacks.push(error) });
});
afterAll(() => {
  redis.disconnect();
  // None of these tests may have been decided by the process's own buckets.
  expect(fallbacks).toEqual([]);
});

const newAccount = () => `acc_${randomUUID()}`;
type Script = { takeTokensBuffer(keys: number, key: string, ...doubles: Buffer[]): Promise<Buffer> };

describe('buckets in Redis', () => {
  limiterSuite({ limiter: () => limiter, pass: (ms) => Bun.sleep(ms), toleranceUs: 1_000_000 });
});

describe('the script', () => {
  const doublesOf = (bytes: Buffer) => [...new Float64Array(new Uint8Array(bytes).buffer)];
  const bytesOf = (...numbers: number[]) => Buffer.from(Float64Array.from(numbers).buffer);
  const run = async (key: string, limit: number, wanted: number) => {
    const requests = bytesOf(...Array.from({ length: wanted }, () => [1, 0, 0]).flat());
    const script = redis as unknown as Script;
    return doublesOf(await script.takeTokensBuffer(1, key, bytesOf(limit), requests));
  };

  test('computes what bucket.ts computes, to the unit, by the clock that it answers', async () => {
    const key = `tokens:${newAccount()}`;
    const between = (min: number, max: number) => fc.integer({ min, max });
    const limits = fc.oneof(between(1, 6000), between(1, MAX_REQUESTS_PER_MINUTE));
    const cases = fc.record({
      limit: limits,
      before: limits,
      fill: fc.double({ min: 0, max: 1.5, noNaN: true }),
      elapsed: fc.oneof(between(0, 5_000_000), between(-1_000_000, 120_000_000)),
      wanted: between(1, 70),
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
        await redis.set(key, bytesOf(state.units, state.atUs, state.limit));
        const [now, held] = await run(key, limit, wanted);
        expect(held).toBe(unitsNow(state, limit, now!));
        const given = Math.min(wanted, Math.floor(held! / UNITS_PER_TOKEN));
        const units = held! - given * UNITS_PER_TOKEN;
        expect(doublesOf((await redis.getBuffer(key))!)).toEqual([units, now!, limit]);
      }),
      { numRuns: 500 },
    );
    await redis.del(key);
  });

  test('the key goes after a minute, which fills any bucket; a full one is what its absence means', async () => {
    for (const limit of [20, 6000]) {
      const account = newAccount();
      await limiter.take(account, limit);
      const ttlMs = await redis.pttl(`tokens:${account}`);
      expect(ttlMs).toBeWithin(30_000, 60_001);
    }
  });

  test('a bucket that is full again keeps just its tokens when the limit is raised', async () => {
    const account = newAccount();
    await limiter.take(account, 1200);
    await Bun.sleep(100);
    const { remaining } = await limiter.take(account, 12_000);
    expect(remaining).toBeWithin(1198, 6000); // 24 s at the new rate
  });

  test('a value of another kind by the name of a bucket is overwritten, and disturbs no other bucket', async () => {
    const [odd, short, other] = [newAccount(), newAccount(), newAccount()];
    await redis.hset(`tokens:${odd}`, { units: '0', at: '0', limit: '20' });
    await redis.set(`tokens:${short}`, 'text');
    const decisions = await Promise.all([odd, short, other].map((account) => limiter.take(account, 20)));
    for (const decision of decisions) expect(decision).toMatchObject({ taken: true, remaining: 19 });
    for (const account of [odd, short, other])
      expect(await limiter.take(account, 20)).toMatchObject({ remaining: 18 });
  });

  test('is loaded again after Redis has forgotten it', async () => {
    const account = newAccount();
    await limiter.take(account, 20);
    await redis.script('FLUSH');
    expect(await limiter.take(account, 20)).toMatchObject({ taken: true, remaining: 18 });
  });

  test('many accounts and takers in one turn of the event loop each get their own', async () => {
    const accounts = Array.from({ length: 50 }, newAccount);
    const decisions = await Promise.all(
      accounts.flatMap((account, index) =>
        Array.from({ length: 8 }, async () => ({ index, ...(await limiter.take(account, 1 + (index % 7))) })),
      ),
    );
    const taken = accounts.map(
      (_, at) => decisions.filter(({ index, taken }) => index === at && taken).length,
    );
    expect(taken).toEqual(accounts.map((_, index) => 1 + (index % 7)));
  });
});

test('a bucket known to be empty refuses without Redis until its next token is due, and another limit is asked about', async () => {
  using other = await connected(redisUrl);
  let asked = 0;
  const { takeTokensBuffer } = other as unknown as Script;
  Object.assign(other, {
    takeTokensBuffer(...args: Parameters<typeof takeTokensBuffer>) {
      asked += 1;
      return takeTokensBuffer.apply(other, args);
    },
  });
  const busy = createRedisRateLimiter(other);
  const account = newAccount();
  const last = await busy.take(account, 1);
  expect(last).toMatchObject({ taken: true, remaining: 0, waitUs: 60_000_000 });
  for (let call = 0; call < 5; call += 1) {
    const refused = await busy.take(account, 1);
    expect(refused).toMatchObject({ taken: false, limit: 1, remaining: 0 });
    expect(refused.nowUs + refused.waitUs).toBe(last.nowUs + last.waitUs);
  }
  expect(asked).toBe(1);
  expect((await busy.take(account, 2)).limit).toBe(2);
  expect(asked).toBe(2);
});

test('two processes with 16 requests in flight each give a share exactly, and an account without one has one key', async () => {
  const [account, key, plain] = [newAccount(), { id: newAccount(), limit: 7 }, newAccount()];
  const others = await Promise.all([connected(redisUrl), connected(redisUrl)]);
  const limiters = others.map((redis) => createRedisRateLimiter(redis));
  const decisions = await Promise.all(
    limiters.flatMap((limiter) => Array.from({ length: 16 }, () => limiter.take(account, 1000, [key]))),
  );
  expect(decisions.filter(({ taken }) => taken)).toHaveLength(7);
  // The last request is answered from memory: the bucket that is known to be empty is the key's alone.
  expect(await limiters[0]!.take(account, 1000, [key])).toMatchObject({ taken: false });
  expect(await limiters[0]!.take(account, 1000)).toMatchObject({ taken: true, limit: 1000 });
  await limiters[0]!.take(plain, 5);
  expect(await redis.keys(`*${plain}*`)).toEqual([`tokens:${plain}`]);
  expect(await redis.strlen(`tokens:${plain}`)).toBe(24);
  for (const other of others) other.disconnect();
});
