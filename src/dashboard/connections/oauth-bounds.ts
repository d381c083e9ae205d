import type { RateLimiter } from '../../metering/rate-limit/bucket.ts';
import { createGate } from '../../platform/runtime/gate.ts';
import { SECOND } from '../../platform/units.ts';
import { countedNetworks, networkOf } from '../request/client-address.ts';
import { createPauses } from '../request/request-limit.ts';

/** Half of the dashboard's connections to Postgres, so that pages always have the others. A request is a few statements. */
const PLACES = { places: 2, placesOfOne: 2, maxWaiting: 1000, maxWaitMs: 4 * SECOND };

/** The bounds of a network at an endpoint. Times to wait are whole seconds, as `Retry-After` has them; 0 means that it may go on. */
export interface Bounds {
  /** The rest of the time to wait of an earlier refusal. No store is asked. */
  pausedS(): number;
  /** Takes a token. */
  take(): Promise<number>;
  /**
   * Does work on Postgres in one of a few places.
   * @throws OverloadedError when too many wait, or the place is not free in time
   */
  within<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * Bounds what strangers ask of Postgres and of the stores of buckets.
 * @param nowMs a monotonic clock, for tests
 */
export function createBounds(rateLimiter: RateLimiter, nowMs?: () => number) {
  const pauses = createPauses(nowMs);
  const places = createGate(PLACES);

  return (endpoint: string, address: string, perMinute: number): Bounds => {
    const client = `${endpoint} ${networkOf(address)}`;
    return {
      pausedS: () => Math.ceil(pauses.leftMs(client) / SECOND),
      async take() {
        for (const { network, times } of countedNetworks(address)) {
          const bucket = `oauth:${endpoint} ${network}`;
          const { taken, waitUs } = await rateLimiter.take(bucket, perMinute * times);
          if (taken) continue;
          const waitS = Math.ceil(waitUs / (SECOND * 1000));
          pauses.begin(client, waitS * SECOND);
          return waitS;
        }
        return 0;
      },
      async within(work) {
        const leave = await places.enter(client);
        return work().finally(leave);
      },
    };
  };
}
