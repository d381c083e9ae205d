import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { DAY } from '../../platform/units.ts';
import { type CookieScope, readCookie, writeCookie } from '../request/cookies.ts';
import { keyFor } from '../request/csrf.ts';
import type { EmailOwner } from './sessions.ts';

/** A link works for an hour, and can be sent again. */
const LIFE_MS = 1 * DAY;

/**
 * The cookie of a browser that has signed up, in which the link of the mail signs in, too. It is bound to the password of that sign-up:
 * neither a link alone opens a session, nor the browser of a stranger that gave the email before.
 *
 * @param name of the cookie
 */
export function createOwnSignUps(secret: string, name: string, scope: CookieScope) {
  const key = keyFor(secret, 'dashboard sign-ups');
  const proofOf = (passwordHash: string) =>
    createHmac('sha256', key).update(passwordHash).digest('base64url');

  return {
    /** @param made the new user; `null` means that the email had one, which the answer must not tell */
    cookieOf: (made: EmailOwner | null): string =>
      writeCookie(name, proofOf(made?.passwordHash ?? randomBytes(32).toString('hex')), scope, LIFE_MS),

    /** Whether the user was made in this browser and has no account yet: neither a second factor nor a suspension is passed over. */
    isOf(cookie: string | null, { passwordHash, accountId }: EmailOwner): boolean {
      if (passwordHash === null || accountId !== null) return false;
      const [sent, right] = [Buffer.from(readCookie(cookie, name)), Buffer.from(proofOf(passwordHash))];
      return sent.length === right.length && timingSafeEqual(sent, right);
    },

    forget: (): string => writeCookie(name, '', scope, 0),
  };
}
