import type { RateLimiter } from '../../metering/rate-limit/limiter.ts';
import type { Door } from '../context.ts';
import { networkOf } from './client-address.ts';
import { createPauses } from './pauses.ts';
import { PAUSE_MS } from './refusals.ts';

/** Requests a minute of one member. Readers of pages need less than two a second. */
const MEMBER_LIMIT = 120;
/** Requests a minute of all visitors at one address, which may be an office, or a proxy that is not trusted; known browsers apart. */
const VISITOR_LIMIT = 300;

/**
 * The dashboard's own token buckets: one a member, one an address for visitors. They are no account's API bucket.
 * @param nowMs a monotonic clock, for tests
 */
export function createRequestLimit(rateLimiter: RateLimiter, nowMs = () => performance.now()) {
  const pauses = createPauses(nowMs);
  const isNamePaused = (name: string) => pauses.leftMs(name) > 0;

  return {
    /**
     * Whether the client was refused less than five seconds ago. No store is asked, and of the request only its address and one cookie
     * are read, so that refusals in a crowd are cheap.
     */
    isPaused: (door: Door) => isNamePaused(clientName(door)) || isNamePaused(withoutSession(door)),

    /**
     * Takes a token if there is one; if not, the client is paused.
     *
     * @param userId whose session the client's cookie opens; `null` for a visitor, also in a browser where a member has signed in
     * @returns whether there was one
     */
    async take(door: Door, userId: string | null): Promise<boolean> {
      // A browser without its session, or with another user's, pauses only itself.
      const name = userId === door.knownUser ? clientName(door) : withoutSession(door);
      const { taken } = await (userId === null
        ? rateLimiter.take(`dash:${name}`, VISITOR_LIMIT)
        : rateLimiter.take(`dash:${userId}`, MEMBER_LIMIT));
      pauses.end(name);
      if (taken) return true;
      // Otherwise a session without its browser's cookie would pause all visitors of its network.
      if (door.knownUser === null && userId !== null) return false;
      pauses.begin(name, PAUSE_MS);
      return false;
    },
  };
}

/** The name of a client before its session is read: the user of its browser, or its network. */
export function clientName({ knownUser, address }: Door): string {
  return knownUser ?? networkOf(address);
}

/** The name of a browser whose cookie opens no session of its user, at one network. */
const withoutSession = ({ knownUser, address }: Door) => `${knownUser} ${networkOf(address)}`;
