import { expect, test } from 'bun:test';
import { once } from 'node:events';
import type Redis from 'ioredis';
import type { RateLimiter } from '../../../src/metering/rate-limit/bucket.ts';
import { connectRedis } from '../../../src/metering/rate-limit/redis.ts';

/** A connection to Redis that is ready. `using` ends it, too. */
export async function connected(url: string): Promise<Redis & Disposable> {
  const redis = connectRedis(url);
  await once(redis, 'ready');
  return Object.assign(redis, { [Symbol.dispose]: () => redis.disconnect() });
}

/** The parts of an implementation that the suite needs. */
export interface LimiterUnderTest {
  limiter: () => RateLimiter;
  /** Lets so many milliseconds pass by the limiter's clock. */
  pass: (ms: number) => Promise<void>;
  /** Microseconds by which a duration may be off, since the clock runs while the test does. */
  toleranceUs: number;
}

let accounts = 0;
const newAccount = () => `acc_${process.pid}_${Date.now()}_${accounts++}`;

/** The guarantees that every implementation of the bucket keeps (specification, Rate limit). */
export function limiterSuite({ limiter, pass, toleranceUs }: LimiterUnderTest): void {
  const takeMany = async (account: string, limit: number, count: number) => {
    const decisions = [];
    for (let call = 0; call < count; call += 1) decisions.push(await limiter().take(account, limit));
    return decisions;
  };
  const takeAtOnce = (count: number, ...asked: Parameters<RateLimiter['take']>) =>
    Promise.all(Array.from({ length: count }, () => limiter().take(...asked)));
  const drain = (account: string, limit: number) => takeAtOnce(limit, account, limit);
  const takenOf = (decisions: { taken: boolean }[]) => decisions.filter(({ taken }) => taken).length;

  test('a bucket nobody has used holds the capacity: so many requests at once, and not one more', async () => {
    const decisions = await takeMany(newAccount(), 5, 7);
    expect(decisions.map(({ taken }) => taken)).toEqual([true, true, true, true, true, false, false]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([4, 3, 2, 1, 0, 0, 0]);
    expect(new Set(decisions.map(({ limit }) => limit))).toEqual(new Set([5]));
  });

  test('while tokens are left there is nothing to wait for; without one, until the next is there', async () => {
    const account = newAccount();
    const [first, last, refused] = await takeMany(account, 2, 3);
    expect([first!.waitUs, first!.taken]).toEqual([0, true]);
    for (const decision of [last!, refused!]) {
      expect(decision.waitUs).toBeLessThanOrEqual(30_000_000);
      expect(decision.waitUs).toBeGreaterThanOrEqual(30_000_000 - toleranceUs);
    }
  });

  test('refills continuously: a fraction of a token is kept, and is one in the end', async () => {
    const account = newAccount();
    const last = (await drain(account, 60)).at(-1)!;
    const dueUs = last.nowUs + last.waitUs;
    let decision = await limiter().take(account, 60);
    while (!decision.taken) {
      expect(decision.nowUs + decision.waitUs).toBe(dueUs);
      await pass(100);
      decision = await limiter().take(account, 60);
    }
    expect(decision.nowUs).toBeGreaterThanOrEqual(dueUs);
  });

  test.each([
    ['a raised limit keeps the tokens that are there', 4, 2, 12, 1],
    ['a lowered limit caps the tokens at the new capacity', 60, 1, 20, 19],
    ['a lowered limit leaves fewer tokens as they are', 12, 9, 4, 2],
  ])('%s', async (_, before, taken, limit, remaining) => {
    const account = newAccount();
    await takeMany(account, before, taken);
    expect(await limiter().take(account, limit)).toMatchObject({ taken: true, remaining, limit });
  });

  test('a lowered limit takes nothing away of what the old one has given since the last request', async () => {
    const account = newAccount();
    await drain(account, 6000);
    await pass(400); // 40 tokens at the old rate, a fraction of one at the new
    expect(await limiter().take(account, 20)).toMatchObject({ taken: true, remaining: 19 });
    await pass(1000);
    expect((await limiter().take(account, 20)).remaining).toBe(18);
  });

  test('requests at the same moment get one token each, and each is told what it left', async () => {
    const account = newAccount();
    const decisions = await takeAtOnce(12, account, 10);
    expect(takenOf(decisions)).toBe(10);
    const left = decisions.filter(({ taken }) => taken).map(({ remaining }) => remaining);
    expect(left).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  });

  const shareOf = (limit: number) => ({ id: newAccount(), limit });

  test('a request with shares takes a token of each bucket, or of none', async () => {
    const [account, key, connections] = [newAccount(), shareOf(2), shareOf(3)];
    const take = (...shares: { id: string; limit: number }[]) => limiter().take(account, 6, shares);
    expect(await take(key, connections)).toMatchObject({
      ...{ taken: true, limit: 2, remaining: 1, waitUs: 0 },
      account: { taken: true, limit: 6, remaining: 5 },
    });
    expect(await take(key)).toMatchObject({ taken: true, remaining: 0, account: { remaining: 4 } });
    for (let call = 0; call < 3; call += 1) {
      const refused = await take(key, connections);
      expect(refused).toMatchObject({ taken: false, limit: 2, remaining: 0 });
      expect(refused.waitUs).toBeGreaterThan(refused.account!.waitUs);
    }
    // The refused requests took nothing of the other buckets.
    expect(await take(connections)).toMatchObject({ taken: true, remaining: 1, account: { remaining: 3 } });
    expect(takenOf(await takeMany(account, 6, 4))).toBe(3);
    const refused = await take(connections);
    expect(refused).toMatchObject({ taken: false, limit: 3, remaining: 0, account: { remaining: 0 } });
    expect(refused.waitUs).toBe(refused.account!.waitUs);
  });

  test('at one moment the shares are exact, and what they are refused is left to the account', async () => {
    const [account, connections, key] = [newAccount(), shareOf(10), shareOf(4)];
    const shared = takeAtOnce(16, account, 10, [connections, key]);
    const alone = takeAtOnce(16, account, 10);
    const [ofKey, ofAccount] = await Promise.all([shared, alone]);
    expect(takenOf(ofKey)).toBeLessThanOrEqual(4);
    expect(takenOf(ofKey) + takenOf(ofAccount)).toBe(10);
    const { remaining } = await limiter().take(newAccount(), 10, [connections]);
    expect(remaining).toBe(10 - takenOf(ofKey) - 1);
  });
}
