import { DAY } from '../../platform/units.ts';

// Apart from auth.ts, because that loads better-auth.

/** A session ends this long after it began, even if it is in use (ASVS 3.3.2). */
export const SESSION_MAX_MS = 30 * DAY;
