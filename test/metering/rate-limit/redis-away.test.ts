import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type Redis from 'ioredis';
import type { RateLimiter } from '../../../src/metering/rate-limit/bucket.ts';
import { createRedisRateLimiter } from '../../../src/metering/rate-limit/redis.ts';
import { startProxy } from '../../support/proxy.ts';
import { redisUrl } from '../../support/redis.ts';
import { inOneTurn } from '../../support/stopped-clock.ts';
import { until } from '../../support/until.ts';
import { connected } from './limiter-suite.ts';

let redis: Redis;
let limiter: RateLimiter;
let changes: string[];
let localDecisions: number;

const proxy = await startProxy(redisUrl);
beforeEach(async () => {
  proxy.up();
  changes = [];
  localDecisions = 0;
  redis = await connected(proxy.url(redisUrl));
  limiter = createRedisRateLimiter(redis, {
    onFallback: () => changes.push('away'),
    onRecovered: () => changes.push('back'),
    onLocalDecision: () => {
      localDecisions += 1;
    },
  });
});
afterEach(() => redis.disconnect());
afterAll(() => proxy.close());

const newAccount = () => `acc_${randomUUID()}`;

/** Asks for other accounts until the process says that Redis is away, or back. */
const untilRedisIs = (change: string) =>
  until(`Redis ${change}`, async () => {
    await limiter.take(newAccount(), 1000);
    return changes.at(-1) === change;
  });

/** The tokens that so many requests at once get. */
async function takenOf(count: number, one: RateLimiter, ...asked: Parameters<RateLimiter['take']>) {
  const decisions = await Promise.all(Array.from({ length: count }, () => one.take(...asked)));
  return decisions.filter(({ taken }) => taken).length;
}

/** What the service does while Redis is away, and that Redis decides again, is in test/failures. */
test.each(['down', 'hang'] as const)(
  'Redis %s: each of two processes gives at most one bucket of each limit more than Redis did',
  async (fault) => {
    using other = await connected(proxy.url(redisUrl));
    const processes = [limiter, createRedisRateLimiter(other)];
    const [account, key] = [newAccount(), { id: newAccount(), limit: 3 }];
    const both = (keys: (typeof key)[]) =>
      Promise.all(processes.map((one) => takenOf(16, one, account, 10, keys)));
    const [mine, theirs] = await both([key]);
    expect(mine! + theirs!).toBe(3);
    proxy[fault]();
    for (const taken of await both([key])) expect(taken).toBeLessThanOrEqual(3);
    for (const taken of await both([])) expect(taken).toBeWithin(1, 11);
  },
);

describe('Redis answers late, or now and then', () => {
  const LIMIT = 60;
  const TIMES = 2;

  /** The tokens of one bucket in the time since it was full. */
  const bucketSince = (startMs: number) => LIMIT + Math.floor((performance.now() - startMs) / 1000);

  test('answers that come after their time give nothing: no more than the process has in its own bucket', async () => {
    const account = newAccount();
    proxy.delay(1000);
    const startMs = performance.now();
    let taken = 0;
    while (performance.now() - startMs < 2500) {
      taken += await takenOf(10, limiter, account, LIMIT);
      await Bun.sleep(20);
    }
    expect(taken).toBeGreaterThanOrEqual(LIMIT);
    expect(taken).toBeLessThanOrEqual(bucketSince(startMs));
  });

  test.each([
    ['late', () => proxy.delay(1000)],
    ['away', () => proxy.down()],
  ])(
    'an answer between two times of being %s gives back nothing that the process has given',
    async (_how, fault) => {
      const account = newAccount();
      const startMs = performance.now();
      let taken = 0;
      for (let time = 0; time < TIMES; time += 1) {
        fault();
        await untilRedisIs('away');
        taken += await takenOf(2 * LIMIT, limiter, account, LIMIT);
        proxy.up();
        await untilRedisIs('back');
        taken += await takenOf(1, limiter, account, LIMIT);
      }
      // The process's bucket is empty, and Redis's bucket has given one token each time.
      expect(taken).toBeLessThanOrEqual(bucketSince(startMs) + TIMES);
      // All together: never more than both.
      taken += await takenOf(3 * LIMIT, limiter, account, LIMIT);
      expect(taken).toBeLessThanOrEqual(2 * bucketSince(startMs));
    },
  );

  test('what the process decides is counted', async () => {
    await takenOf(5, limiter, newAccount(), LIMIT);
    expect(localDecisions).toBe(0);
    proxy.down();
    await takenOf(5, limiter, newAccount(), LIMIT);
    expect(localDecisions).toBe(5);
  });
});

test('a Redis that answers errors is passed over, and the service keeps limiting', async () => {
  const account = newAccount();
  redis.defineCommand('takeTokens', { lua: "return redis.error_reply('OOM command not allowed')" });
  const decisions = [];
  for (let call = 0; call < 3; call += 1) decisions.push(await limiter.take(account, 2));
  expect(decisions.map(({ taken }) => taken)).toEqual([true, true, false]);
  expect(changes).toEqual(['away']);
});

test("a process that was busy while others waited for Redis doesn't take it for away", async () => {
  const account = newAccount();
  // The others do not queue too long, however long it was busy.
  await inOneTurn(async () => {
    const first = limiter.take(account, 20);
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const gathered = Array.from({ length: 5 }, () => limiter.take(account, 20));
    Bun.sleepSync(400);
    await Promise.all([first, ...gathered]);
  });
  expect(changes).toEqual([]);
  // Redis has given them, not this process.
  using other = await connected(redisUrl);
  expect((await createRedisRateLimiter(other).take(account, 20)).remaining).toBe(13);
});
