import type { RateLimiter } from '../../metering/rate-limit/limiter.ts';
import { createGate } from '../../platform/runtime/gate.ts';
import { SECOND } from '../../platform/units.ts';
import { countedNetworks, networkOf } from '../request/client-address.ts';
import { createPauses, type Pauses } from '../request/pauses.ts';

/** Half of the dashboard's connections to Postgres, so that pages always have the others. A request is a few statements. */
const PLACES = { places: 2, placesOfOne: 2, maxWaiting: 1000, maxWaitMs: 4 * SECOND };

/** The bounds of a network at an endpoint. Times to wait are whole seconds, as `Retry-After` has them; 0 means that it may go on. */
export interface Bounds {
  /** The rest of the time to wait of an earlier refusal. No store is asked. */
  pausedS(): number;
  /** Takes a token. */
  take(): Promise<number>;
  /**
   * Does work on Postgres in one of a few places, unless the network has passed a limit of attempts while it waited for one.
   * @throws OverloadedError when too many wait, or the place is not free in time
   */
  within<T>(work: () => Promise<T>, refuse: (waitS: number) => T): Promise<T>;
  /** Refuses a network that has passed a limit of attempts until it has waited. @returns the time to wait */
  pause(waitS: number): number;
}

/**
 * Bounds what strangers ask of Postgres and of the stores of buckets.
 * @param nowMs a monotonic clock, for tests
 */
export function createBounds(rateLimiter: RateLimiter, nowMs?: () => number) {
  // Two, because an empty bucket must not refuse a request that has its token already.
  const [emptyBuckets, attempts] = [createPauses(nowMs), createPauses(nowMs)];
  const places = createGate(PLACES);

  return (endpoint: string, address: string, perMinute: number): Bounds => {
    const client = `${endpoint} ${networkOf(address)}`;
    const leftS = (pauses: Pauses) => Math.ceil(pauses.leftMs(client) / SECOND);
    const begin = (pauses: Pauses, waitS: number) => {
      pauses.begin(client, Math.ceil(waitS) * SECOND);
      return Math.ceil(waitS);
    };

    return {
      pausedS: () => Math.max(leftS(emptyBuckets), leftS(attempts)),
      async take() {
        for (const { network, times } of countedNetworks(address)) {
          const bucket = `oauth:${endpoint} ${network}`;
          const { taken, waitUs } = await rateLimiter.take(bucket, perMinute * times);
          if (!taken) return begin(emptyBuckets, waitUs / (SECOND * 1000));
        }
        return 0;
      },
      async within(work, refuse) {
        const leave = await places.enter(client);
        try {
          const waitS = leftS(attempts);
          return waitS > 0 ? refuse(waitS) : await work();
        } finally {
          leave();
        }
      },
      pause: (waitS) => begin(attempts, waitS),
    };
  };
}
