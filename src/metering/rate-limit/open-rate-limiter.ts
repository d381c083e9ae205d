import { once } from 'node:events';
import type { Config } from '../../platform/config/config.ts';
import { tlsFault } from '../../platform/config/tls.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Probe } from '../../platform/observability/probe.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { withTimeout } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';
import type { RateLimiter } from './bucket.ts';
import { createProcessRateLimiter } from './process.ts';
import { connectRedis, createRedisRateLimiter } from './redis.ts';

/** The service starts after this long even if Redis doesn't answer. */
const CONNECT_TIMEOUT_MS = 1 * SECOND;

/** The configured buckets: in Redis, or in this process without Redis. */
export async function openRateLimiter(
  config: Pick<Config, 'redisUrl'>,
  cleanup: Cleanup,
  log: Log,
  metrics: Metrics,
): Promise<{ rateLimiter: RateLimiter; probes: Probe[] }> {
  const isLocal = metrics.gauge(
    'rate_limit_local',
    '1 while rate limits are kept by this process alone because Redis is away.',
  );
  const localDecisions = metrics.counter(
    'rate_limit_local_decisions_total',
    'Requests that a bucket of this process alone decided, because Redis was away or late.',
  );
  if (config.redisUrl === null) return { rateLimiter: createProcessRateLimiter(), probes: [] };
  const redis = connectRedis(config.redisUrl);
  /** Why there is no connection. A command only says that there is none. */
  let connectionFault: unknown = null;
  redis.on('error', (error) => {
    connectionFault = error;
  });
  redis.on('close', () => {
    connectionFault ??= new Error('the connection was lost');
  });
  redis.on('ready', () => {
    connectionFault = null;
  });
  cleanup.add('Redis', async () => redis.disconnect());
  // A request before the connection would be limited by this process's bucket.
  await withTimeout(once(redis, 'ready'), CONNECT_TIMEOUT_MS, 'Redis').catch((error) => {
    const fault = tlsFault(error);
    const problem = fault === null ? 'Redis is away at start, or refuses' : `Redis is not used: ${fault}`;
    log.warn({ err: error }, `${problem}: check REDIS_URL`);
  });
  const rateLimiter = createRedisRateLimiter(redis, {
    onFallback: (error) => {
      isLocal.set(1);
      log.warn({ err: connectionFault ?? error }, 'Redis is away: this process limits by its own buckets');
    },
    onLocalDecision: () => localDecisions.inc(),
    onRecovered: () => {
      isLocal.set(0);
      log.info('Redis is back');
    },
  });
  // Not required, because without Redis the service still answers and limits.
  const check = () =>
    redis.ping().catch((error) => {
      throw connectionFault ?? error;
    });
  const probe: Probe = { name: 'redis', required: false, check };
  return { rateLimiter, probes: [probe] };
}
