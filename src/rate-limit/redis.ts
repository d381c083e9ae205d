import Redis from 'ioredis';
import { createBatcher } from '../runtime/batch.ts';
import { OverloadedError, withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';
import { decide, type RateDecision, UNITS_PER_TOKEN } from './bucket.ts';
import type { RateLimiter } from './limiter.ts';
import { createProcessRateLimiter, type ProcessRateLimiter } from './process.ts';
import takeScript from './take.lua' with { type: 'text' };

/** A Redis that hasn't answered by then is passed over for that request. */
const REDIS_TIMEOUT_MS = 200;
/** After a timeout, Redis is not asked for this long: a hung Redis delays one request a second, not every request. */
const PAUSE_AFTER_TIMEOUT_MS = 1 * SECOND;
const KEY_PREFIX = 'bucket:';
/**
 * One script in flight; requests that arrive meanwhile share the next. Each script has its own timeout. After a failure the
 * next one isn't sent, because its requests have waited long enough.
 */
const BATCHES = { name: 'Redis', batchTimeoutMs: null };

interface BucketCommands extends Redis {
  takeTokens(keys: number, ...args: (string | number)[]): Promise<(string | number)[]>;
}

/** Opens a connection that fails at once while Redis is away, and is made again by itself. */
export function connectRedis(url: string): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2 * SECOND,
    // Only lets go of what Redis never answers; who waits is bounded by `withTimeout`, which sees what has arrived in time.
    commandTimeout: 2 * SECOND,
    retryStrategy: (attempt) => Math.min(attempt * 50, 500),
  });
  // Failures show at the commands; without a listener ioredis prints them.
  redis.on('error', () => {});
  redis.defineCommand('takeTokens', { lua: takeScript });
  return redis;
}

/** A token that somebody wants, or a look at a bucket. */
interface Want {
  accountId: string;
  limit: number;
  tokens: 0 | 1;
}

/**
 * Buckets in Redis, shared by all instances, taken from by one atomic script for all that arrives in one turn of the
 * event loop, by Redis's clock. While Redis is away the process's own buckets decide: the service keeps limiting, per process.
 *
 * An answer of Redis only ever lowers the process's own bucket, and only time fills it. So an account gets at most what the
 * shared bucket holds plus what one bucket in each process holds, however often Redis is late or away.
 *
 * @param options.onLocalDecision told of each request for a token that the process's own bucket decides
 */
export function createRedisRateLimiter(
  redis: Redis,
  { onFallback = (_error: unknown) => {}, onRecovered = () => {}, onLocalDecision = () => {} } = {},
): RateLimiter {
  const local = createProcessRateLimiter();
  const ask = createBatcher(async (wants: Want[]) => {
    // Those that gathered while Redis hung have waited long enough.
    if (isPaused()) throw new Error('Redis is left alone for a moment');
    return withTimeout(runScript(redis as BucketCommands, wants, local.lower), REDIS_TIMEOUT_MS, 'Redis');
  }, BATCHES);
  let pausedUntilMs = 0;
  let away = false;

  const isPaused = () => performance.now() < pausedUntilMs;

  async function decideFor(want: Want, decideLocally: () => Promise<RateDecision>): Promise<RateDecision> {
    if (isPaused()) return decideLocally();
    try {
      const decision = await ask(want);
      if (away) onRecovered();
      away = false;
      return decision;
    } catch (error) {
      // Our own queue: Redis is none the worse for it, and must not be left alone.
      if (error instanceof OverloadedError) return decideLocally();
      if (redis.status === 'ready' && !isPaused()) pausedUntilMs = performance.now() + PAUSE_AFTER_TIMEOUT_MS;
      if (!away) onFallback(error);
      away = true;
      return decideLocally();
    }
  }

  return {
    take: (accountId, limit) =>
      decideFor({ accountId, limit, tokens: 1 }, () => {
        onLocalDecision();
        return local.take(accountId, limit);
      }),
    peek: (accountId, limit) =>
      decideFor({ accountId, limit, tokens: 0 }, () => local.peek(accountId, limit)),
  };
}

/** One script for all wants; those of one account are dealt out in their order. */
async function runScript(
  redis: BucketCommands,
  wants: Want[],
  lower: ProcessRateLimiter['lower'],
): Promise<RateDecision[]> {
  const buckets = new Map<string, { limit: number; tokens: number; given: number; units: number }>();
  for (const { accountId, limit, tokens } of wants) {
    const bucket = buckets.get(accountId);
    if (bucket === undefined) buckets.set(accountId, { limit, tokens, given: 0, units: 0 });
    else bucket.tokens += tokens;
  }
  const keys = [...buckets.keys()].map((id) => KEY_PREFIX + id);
  const args = [...buckets.values()].flatMap(({ limit, tokens }) => [limit, tokens]);
  const [now, ...answers] = await redis.takeTokens(keys.length, ...keys, ...args);
  const nowUs = Number(now);
  let position = 0;
  for (const [accountId, bucket] of buckets) {
    bucket.given = Number(answers[position++]);
    bucket.units = Number(answers[position++]);
    lower(accountId, bucket.units, bucket.limit);
  }
  return wants.map(({ accountId, tokens }) => {
    const bucket = buckets.get(accountId)!;
    if (tokens === 0) return decide(bucket.units >= UNITS_PER_TOKEN, bucket.units, bucket.limit, nowUs);
    const admitted = bucket.given > 0;
    if (admitted) bucket.given -= 1;
    // What this token left: those that are still to be dealt out were in the bucket then.
    return decide(admitted, bucket.units + bucket.given * UNITS_PER_TOKEN, bucket.limit, nowUs);
  });
}
