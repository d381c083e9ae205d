import Redis from 'ioredis';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { OverloadedError } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';
import { type Bucket, type BucketState, type RateDecision, type RateLimiter, takeOfEach } from './bucket.ts';
import { createProcessRateLimiter, steadyUnixUs } from './process.ts';
import takeScript from './take.lua' with { type: 'text' };

/** A Redis that hasn't answered by then is passed over for that request. */
const REDIS_TIMEOUT_MS = 200;
/** After a timeout, Redis is not asked for this long: a hung Redis delays one request a second, not every request. */
const PAUSE_AFTER_TIMEOUT_MS = 1 * SECOND;
const KEY_PREFIX = 'tokens:';
/**
 * One script in flight; requests that arrive meanwhile share the next. Each script has its own timeout. After a failure the
 * next one isn't sent, because its requests have waited long enough.
 */
const BATCHES = { name: 'Redis', stage: 'bucket', timeoutMs: REDIS_TIMEOUT_MS } as const;

/** Opens a connection that fails at once while Redis is away, and is made again by itself. */
export function connectRedis(url: string): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2 * SECOND,
    // Drops commands that Redis never answers. The batcher bounds the callers, and sees an answer that has arrived in time.
    commandTimeout: 2 * SECOND,
    retryStrategy: (attempt) => Math.min(attempt * 50, 500),
  });
  // Failures show at the commands; without a listener ioredis prints them.
  redis.on('error', () => {});
  redis.defineCommand('takeTokens', { lua: takeScript });
  return redis;
}

/** A bucket of a script, and its place among the keys. */
type AskedBucket = Pick<BucketState, 'units' | 'limit'> & { place: number };

type BucketCommands = Redis & {
  takeTokensBuffer(keys: number, ...keysAndArguments: (string | Buffer)[]): Promise<Buffer>;
};

/**
 * Buckets in Redis, shared by all instances, by Redis's clock. One atomic script takes the tokens of all requests that arrive in
 * one turn of the event loop. While Redis is away the process's own buckets decide, so the service keeps limiting, per process.
 *
 * An answer of Redis only ever lowers the process's own bucket, and only time fills it. So an account gets at most the tokens of
 * the shared bucket and of one bucket in each process, however often Redis is late or away.
 *
 * @param options.onLocalDecision called for each request for a token that the process's own bucket decides
 */
export function createRedisRateLimiter(
  redis: Redis,
  { onFallback = (_error: unknown) => {}, onRecovered = () => {}, onLocalDecision = () => {} } = {},
): RateLimiter {
  const local = createProcessRateLimiter();
  const ask = createBatcher(takeAll, BATCHES);
  let pausedUntilMs = 0;
  let away = false;

  const isPaused = () => performance.now() < pausedUntilMs;

  /** Takes tokens by one script, and deals them as it does: in the order of the requests. */
  async function takeAll(requests: Bucket[][]): Promise<RateDecision[]> {
    // Requests that queued while Redis hung have waited long enough.
    if (isPaused()) throw new Error('Redis is left alone for a moment');
    const askedUs = steadyUnixUs();
    const buckets = new Map<string, AskedBucket>();
    for (const { id, limit } of requests.flat())
      if (!buckets.has(id)) buckets.set(id, { limit, units: 0, place: buckets.size + 1 });
    const answer = (await runScript(redis, buckets, requests)).values();
    const nowUs = answer.next().value!;
    for (const bucket of buckets.values()) bucket.units = answer.next().value!;
    const decisions = requests.map((request) =>
      takeOfEach(
        request.map(({ id }) => buckets.get(id)!),
        nowUs,
      ),
    );
    // An answer that is too late for its requests counts here, too.
    local.lower(buckets, nowUs, askedUs);
    return decisions;
  }

  function takeLocally([{ id, limit }, ...shares]: [Bucket, ...Bucket[]]): Promise<RateDecision> {
    onLocalDecision();
    return local.take(id, limit, shares);
  }

  return {
    async take(accountId, limit, shares = null) {
      const request: [Bucket, ...Bucket[]] = [{ id: accountId, limit }, ...(shares ?? [])];
      const refusal = local.refusal(request);
      if (refusal !== null) return refusal;
      if (isPaused()) return takeLocally(request);
      try {
        const decision = await ask(request);
        if (away) onRecovered();
        away = false;
        return decision;
      } catch (error) {
        // The request queued too long in this process. Redis is not at fault, and is asked again.
        if (error instanceof OverloadedError) return takeLocally(request);
        if (redis.status === 'ready' && !isPaused())
          pausedUntilMs = performance.now() + PAUSE_AFTER_TIMEOUT_MS;
        if (!away) onFallback(error);
        away = true;
        return takeLocally(request);
      }
    },
  };
}

/**
 * Runs take.lua.
 * @param requests the buckets of each, three at most: its account's, then its shares
 * @returns Redis's time in microseconds, then the units that each bucket held
 */
async function runScript(redis: Redis, buckets: Map<string, AskedBucket>, requests: Bucket[][]) {
  const keys = [...buckets.keys()].map((id) => KEY_PREFIX + id);
  const placeOf = (bucket: Bucket | undefined) => (bucket === undefined ? 0 : buckets.get(bucket.id)!.place);
  const doubles = [
    [...buckets.values()].map(({ limit }) => limit),
    requests.flatMap(([account, key, connections]) => [account, key, connections].map(placeOf)),
  ].map((part) => Buffer.from(new Float64Array(part).buffer));
  const answer = await (redis as BucketCommands).takeTokensBuffer(keys.length, ...keys, ...doubles);
  // Copied, because doubles must begin at a multiple of eight.
  return new Float64Array(new Uint8Array(answer).buffer);
}
