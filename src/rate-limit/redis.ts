import Redis from 'ioredis';
import { SECOND } from '../units.ts';
import { decide } from './bucket.ts';
import type { RateLimiter } from './limiter.ts';
import { createProcessRateLimiter } from './process.ts';
import takeScript from './take.lua' with { type: 'text' };

/** A Redis that hasn't answered by then is passed over for that request (issue: down or hung). */
const REDIS_TIMEOUT_MS = 200;
/** After a time-out Redis is left alone this long, so that a hung one delays a request a second, not every request. */
const PAUSE_AFTER_TIMEOUT_MS = 1 * SECOND;
const KEY_PREFIX = 'bucket:';

interface BucketCommands extends Redis {
  takeToken(key: string, limit: number): Promise<[admitted: number, units: string, nowUs: string]>;
}

/** Opens a connection that fails at once while Redis is away, and is made again by itself. */
export function connectRedis(url: string): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2 * SECOND,
    commandTimeout: REDIS_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(attempt * 50, 500),
  });
  // Failures show at the commands; without a listener ioredis prints them.
  redis.on('error', () => {});
  return redis;
}

/**
 * Buckets in Redis, shared by all instances, each token taken by one atomic script and Redis's clock. While Redis is
 * away the process's own buckets decide, from where Redis last had them: the service keeps limiting, per process.
 */
export function createRedisRateLimiter(
  redis: Redis,
  { onFallback = (_error: unknown) => {}, onRecovered = () => {} } = {},
): RateLimiter {
  redis.defineCommand('takeToken', { numberOfKeys: 1, lua: takeScript });
  const local = createProcessRateLimiter();
  let pausedUntilMs = 0;
  let away = false;

  return {
    async take(accountId, limit) {
      if (performance.now() < pausedUntilMs) return local.take(accountId, limit);
      try {
        const [admitted, units, nowUs] = await (redis as BucketCommands).takeToken(
          KEY_PREFIX + accountId,
          limit,
        );
        if (away) onRecovered();
        away = false;
        local.remember(accountId, Number(units));
        return decide(admitted === 1, Number(units), limit, Number(nowUs));
      } catch (error) {
        if (redis.status === 'ready') pausedUntilMs = performance.now() + PAUSE_AFTER_TIMEOUT_MS;
        if (!away) onFallback(error);
        away = true;
        return local.take(accountId, limit);
      }
    },
  };
}
