import { createGate } from '../../platform/runtime/gate.ts';
import { SECOND } from '../../platform/units.ts';
import type { Door } from '../context.ts';
import { clientName } from './request-limit.ts';

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
