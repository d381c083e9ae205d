import type { RateLimiter } from '../../metering/rate-limit/bucket.ts';
import { createGate } from '../../platform/runtime/gate.ts';
import { SECOND } from '../../platform/units.ts';
import type { Door } from '../context.ts';
import { countedNetworks, networkOf } from './client-address.ts';
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
function clientName({ knownUser, address }: Door): string {
  return knownUser ?? networkOf(address);
}

/** The name of a browser whose cookie opens no session of its user, at one network. */
const withoutSession = ({ knownUser, address }: Door) => `${knownUser} ${networkOf(address)}`;

const MAX_PAUSED = 10_000;

/**
 * The clients that were refused a moment ago. They are refused again without a question to a store, so that refusals in a crowd are cheap.
 * @param nowMs a monotonic clock, for tests
 */
function createPauses(nowMs = () => performance.now()) {
  const ends = new Map<string, number>();
  return {
    /** Milliseconds until the pause of a client ends; 0 means that it has none. */
    leftMs: (client: string) => Math.max(0, (ends.get(client) ?? 0) - nowMs()),
    begin(client: string, ms: number): void {
      if (ends.size >= MAX_PAUSED) ends.delete(ends.keys().next().value as string);
      ends.set(client, nowMs() + ms);
    },
    end(client: string): void {
      ends.delete(client);
    },
  };
}

const MAX_WAIT_MS = 4 * SECOND;
/** Few pages are made at a time, because the API shares the process. All pages share four connections. */
const PAGES = { places: 4, placesOfOne: 2, maxWaiting: 200, maxWaitMs: MAX_WAIT_MS };
/** A form with a password keeps a core busy for 60 to 100 ms (scrypt). So it takes no page's place. */
const PASSWORDS = { places: 2, placesOfOne: 1, maxWaiting: 24, maxWaitMs: MAX_WAIT_MS };
/** Forms without a session that are kept for a sign-in, each of 32 KiB at most: 2 MiB in the whole process. None waits. */
const KEPT_FORMS = { places: 32, placesOfOne: 2, maxWaiting: 0, maxWaitMs: 0 };

/** Work that is bounded: `page` also for reading a session. */
export type Work = 'page' | 'password' | 'kept form';

/** The places of requests in flight. Browsers of members have places that visitors can't fill. */
export function createPlaces() {
  const gates = () => ({
    page: createGate(PAGES),
    password: createGate(PASSWORDS),
    'kept form': createGate(KEPT_FORMS),
  });
  const [ofMembers, ofVisitors] = [gates(), gates()];
  const enter = (door: Door, work: Work) =>
    (door.knownUser === null ? ofVisitors : ofMembers)[work].enter(clientName(door));

  return {
    enter,
    /**
     * Does work in a place.
     *
     * @param work gets a function that gives the place back before its end
     * @throws OverloadedError when too many wait, or the place is not free in time
     */
    async within<T>(door: Door, kind: Work, work: (leave: () => void) => Promise<T>): Promise<T> {
      const leave = await enter(door, kind);
      return work(leave).finally(leave);
    },
  };
}

/** Half of the dashboard's connections to Postgres, so that pages always have the others. A request is a few statements. */
const PLACES_OF_STRANGERS = { places: 2, placesOfOne: 2, maxWaiting: 1000, maxWaitMs: 4 * SECOND };

/** The bounds of a network at an endpoint. Times to wait are whole seconds, as `Retry-After` has them; 0 means that it may go on. */
export type Bounds = ReturnType<ReturnType<typeof createBounds>>;

/**
 * Bounds what strangers ask of Postgres and of the stores of buckets.
 * @param nowMs a monotonic clock, for tests
 */
export function createBounds(rateLimiter: RateLimiter, nowMs?: () => number) {
  const pauses = createPauses(nowMs);
  const places = createGate(PLACES_OF_STRANGERS);

  return (endpoint: string, address: string, perMinute: number) => {
    const client = `${endpoint} ${networkOf(address)}`;
    return {
      /** The rest of the time to wait of an earlier refusal. No store is asked. */
      pausedS: () => Math.ceil(pauses.leftMs(client) / SECOND),
      /** Takes a token. */
      async take(): Promise<number> {
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
      /**
       * Does work on Postgres in one of a few places.
       * @throws OverloadedError when too many wait, or the place is not free in time
       */
      async within<T>(work: () => Promise<T>): Promise<T> {
        const leave = await places.enter(client);
        return work().finally(leave);
      },
    };
  };
}
