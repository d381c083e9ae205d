import { DAY } from '../../platform/units.ts';
import type { PageContext } from '../context.ts';
import { cookieScopeOf, readCookie, writeCookie } from '../request/cookies.ts';
import { isEmail } from '../request/read-form.ts';
import { returnPath } from '../request/return-path.ts';

const COOKIE = 'dashboard.sign_up';
/** Longer than the hour of a link, because a link can be sent again. */
const LIFE_MS = 1 * DAY;

/**
 * The cookie of a browser that has signed up, for the pages until the link is opened: the email, and the page that was asked for before the
 * sign-up. It proves nothing.
 */
export function awaitLink({ tools }: PageContext, email: string, to: string): string {
  const value = [email, to].map((text) => Buffer.from(text).toString('base64url')).join('.');
  return writeCookie(COOKIE, value, cookieScopeOf(tools), LIFE_MS);
}

/** Reads the cookie of {@link awaitLink}. An `email` of `null` means that there is none, and a `to` of '' means the overview. */
export function awaitedLink({ request }: PageContext): { email: string | null; to: string } {
  const parts = readCookie(request.headers.get('cookie'), COOKIE).split('.');
  const [email = '', to = ''] = parts.map((part) => Buffer.from(part, 'base64url').toString());
  return { email: isEmail(email) ? email : null, to: returnPath(to) };
}
