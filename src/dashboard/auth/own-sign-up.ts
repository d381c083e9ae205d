import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { DAY } from '../../platform/units.ts';
import { type CookieScope, readCookie, writeCookie } from '../request/cookies.ts';
import { keyFor } from '../request/csrf.ts';
import { isEmail } from '../request/read-form.ts';
import type { EmailOwner } from './sessions.ts';

/** Longer than the hour of a link, because a link can be sent again. */
const LIFE_MS = 1 * DAY;

/**
 * The cookie of a browser that has signed up, in which the link of the mail signs in, too. It has the email for the next page,
 * and is bound to the password of that sign-up: neither a link alone opens a session, nor the browser of a stranger that gave the
 * email before.
 *
 * @param name of the cookie
 */
export function createOwnSignUps(secret: string, name: string, scope: CookieScope) {
  const key = keyFor(secret, 'dashboard sign-ups');
  const proofOf = (passwordHash: string) =>
    createHmac('sha256', key).update(passwordHash).digest('base64url');
  const partsOf = (cookie: string | null) => readCookie(cookie, name).split('.');

  return {
    /** @param made the new user; `null` means that there is none, or that the email had one, which the answer must not tell */
    cookieOf(email: string, made: EmailOwner | null): string {
      const proof = proofOf(made?.passwordHash ?? randomBytes(32).toString('hex'));
      const value = `${proof}.${Buffer.from(email).toString('base64url')}`;
      return writeCookie(name, value, scope, LIFE_MS);
    },

    /** The email that was given in this browser, for the next pages; `null` without one. */
    emailOf(cookie: string | null): string | null {
      const email = Buffer.from(partsOf(cookie)[1] ?? '', 'base64url').toString();
      return isEmail(email) ? email : null;
    },

    /** Whether the user was made in this browser, with the password that they still have. */
    isOf(cookie: string | null, { passwordHash }: EmailOwner): boolean {
      if (passwordHash === null) return false;
      const [sent, right] = [Buffer.from(partsOf(cookie)[0]!), Buffer.from(proofOf(passwordHash))];
      return sent.length === right.length && timingSafeEqual(sent, right);
    },

    forget: (): string => writeCookie(name, '', scope, 0),
  };
}
