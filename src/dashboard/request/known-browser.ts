import { DAY } from '../../platform/units.ts';
import { type CookieScope, readCookie, writeCookie } from './cookies.ts';
import { createUserSigner } from './csrf.ts';

const COOKIE = 'dashboard.browser';
const LIFE_MS = 180 * DAY;

/**
 * The cookie of a browser in which a user has signed in ("device cookies" of OWASP). It opens nothing. It gives the browser the
 * places of members, and a count of this user's guesses that guesses from elsewhere don't raise.
 *
 * @param secret the dashboard's secret
 */
export function createKnownBrowsers(secret: string, scope: CookieScope) {
  const users = createUserSigner(secret, 'dashboard browsers');

  return {
    /** The id of the user that has signed in with this browser last; `null` if none has. */
    userOf(cookie: string | null): string | null {
      const text = readCookie(cookie, COOKIE);
      const userId = users.claimed(text);
      return userId !== '' && users.isSigned(text, userId) ? userId : null;
    },

    /** The `Set-Cookie` for a browser in which the user is signed in. */
    cookieOf: (userId: string) => writeCookie(COOKIE, users.sign(userId), scope, LIFE_MS),
  };
}
