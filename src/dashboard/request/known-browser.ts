import { createHmac, timingSafeEqual } from 'node:crypto';
import { DAY } from '../../platform/units.ts';
import { type CookieScope, readCookie, writeCookie } from './cookies.ts';
import { keyFor } from './csrf.ts';

const COOKIE = 'dashboard.browser';
const LIFE_MS = 180 * DAY;
/** An id has 32 characters, and a signature 43. */
const MAX_LENGTH = 200;

/**
 * The cookie of a browser in which a user has signed in ("device cookies" of OWASP): the user's id, signed. It opens nothing. It gives the
 * browser the places of members, and a count of this user's guesses that guesses from elsewhere don't raise.
 *
 * @param secret the dashboard's secret
 */
export function createKnownBrowsers(secret: string, scope: CookieScope) {
  const key = keyFor(secret, 'dashboard browsers');
  const signed = (userId: string) =>
    `${userId}.${createHmac('sha256', key).update(userId).digest('base64url')}`;

  return {
    /** The id of the user that has signed in with this browser last; `null` if none has. */
    userOf(cookie: string | null): string | null {
      const text = readCookie(cookie, COOKIE);
      const end = text.indexOf('.');
      if (end < 1 || text.length > MAX_LENGTH) return null;
      const userId = text.slice(0, end);
      const [sent, right] = [Buffer.from(text), Buffer.from(signed(userId))];
      return sent.length === right.length && timingSafeEqual(sent, right) ? userId : null;
    },

    /** The `Set-Cookie` for a browser in which the user is signed in. */
    cookieOf: (userId: string) => writeCookie(COOKIE, signed(userId), scope, LIFE_MS),
  };
}
