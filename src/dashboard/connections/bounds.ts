import type { RateLimiter } from '../../metering/rate-limit/limiter.ts';
import { SECOND } from '../../platform/units.ts';
import { countedNetworks, networkOf } from '../request/client-address.ts';
import { createPauses } from '../request/pauses.ts';

/** What a network may ask of an endpoint. Times to wait are whole seconds, as `Retry-After` has them; 0 means that it may go on. */
export interface Bounds {
  /** The rest of the time to wait of an earlier refusal. No store is asked. */
  pausedS(): number;
  /** Takes a token. */
  take(): Promise<number>;
  /** Refuses a network that has passed a limit of attempts until it has waited. @returns the time to wait */
  pause(waitS: number): number;
}

/**
 * Bounds what strangers ask of Postgres and of the stores of buckets.
 * @param nowMs a monotonic clock, for tests
 */
export function createBounds(rateLimiter: RateLimiter, nowMs?: () => number) {
  const pauses = createPauses(nowMs);

  return (endpoint: string, address: string, perMinute: number): Bounds => {
    const client = `${endpoint} ${networkOf(address)}`;
    const pause = (waitS: number) => {
      pauses.begin(client, Math.ceil(waitS) * SECOND);
      return Math.ceil(waitS);
    };

    return {
      pausedS: () => Math.ceil(pauses.leftMs(client) / SECOND),
      async take() {
        for (const { network, times } of countedNetworks(address)) {
          const bucket = `oauth:${endpoint} ${network}`;
          const { taken, waitUs } = await rateLimiter.take(bucket, perMinute * times);
          if (!taken) return pause(waitUs / (SECOND * 1000));
        }
        return 0;
      },
      pause,
    };
  };
}
