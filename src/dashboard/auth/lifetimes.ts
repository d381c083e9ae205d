import { DAY, MINUTE } from '../../platform/units.ts';

// Apart from auth.ts, because that loads better-auth.

/** A session ends this long after it began, even if it is in use (ASVS 3.3.2). */
export const SESSION_MAX_MS = 30 * DAY;

/** After ten wrong codes in a row a user's codes are refused this long. */
export const CODE_LOCK_MS = 15 * MINUTE;
