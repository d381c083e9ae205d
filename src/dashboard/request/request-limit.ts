import type { RateLimiter } from '../../metering/rate-limit/limiter.ts';
import { networkOf } from './client-address.ts';
import type { Client } from './context.ts';
import { PAUSE_MS } from './refusals.ts';

/** Requests a minute of one member. Readers of pages need less than two a second. */
const MEMBER_LIMIT = 120;
/** Requests a minute of all visitors at one address, which may be an office, or a proxy that is not trusted. */
const VISITOR_LIMIT = 300;
const MAX_PAUSED = 10_000;

/**
 * The dashboard's own token buckets: one a member, one an address for visitors. They are no account's API bucket.
 * @param nowMs a monotonic clock, for tests
 */
export function createRequestLimit(rateLimiter: RateLimiter, nowMs = () => performance.now()) {
  /** The end of each client's pause. */
  const paused = new Map<string, number>();

  return {
    /** Whether the client was refused less than five seconds ago. No store is asked, so that refusals in a crowd are cheap. */
    isPaused: (client: Client) => nowMs() < (paused.get(clientName(client)) ?? 0),

    /**
     * Takes a token if there is one; if not, the client is paused.
     *
     * @param userId whose session the client's cookie opens; `null` for a visitor
     * @returns whether there was one
     */
    async take(client: Client, userId: string | null): Promise<boolean> {
      const { taken } = await (userId === null
        ? rateLimiter.take(`dash:${networkOf(client.address)}`, VISITOR_LIMIT)
        : rateLimiter.take(`dash:${userId}`, MEMBER_LIMIT));
      const name = clientName(client);
      paused.delete(name);
      if (taken) return true;
      // Otherwise a session without its browser's cookie would pause all visitors of its network.
      if (userId !== client.knownUser) return false;
      if (paused.size >= MAX_PAUSED) paused.delete(paused.keys().next().value as string);
      paused.set(name, nowMs() + PAUSE_MS);
      return false;
    },
  };
}

/** The name of a client before its session is read: the user of its browser, or its network. */
export function clientName({ knownUser, address }: Client): string {
  return knownUser ?? networkOf(address);
}
