import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { DAY } from '../../platform/units.ts';
import { type CookieScope, readCookie, writeCookie } from '../request/cookies.ts';
import { keyFor } from '../request/csrf.ts';
import { isEmail } from '../request/read-form.ts';
import { returnPath } from '../request/return-path.ts';
import type { EmailOwner } from './sessions.ts';

/** Longer than the hour of a link, because a link can be sent again. */
const LIFE_MS = 1 * DAY;

/**
 * The cookie of a browser that has signed up, in which the link of the mail signs in, too. It has the email for the next page and
 * the page that was asked for before the sign-up, and is bound to the password of that sign-up: neither a link alone opens a session, nor the browser of a stranger that gave the
 * email before.
 *
 * @param name of the cookie
 */
export function createOwnSignUps(secret: string, name: string, scope: CookieScope) {
  const key = keyFor(secret, 'dashboard sign-ups');
  const proofOf = (passwordHash: string) =>
    createHmac('sha256', key).update(passwordHash).digest('base64url');
  const partsOf = (cookie: string | null) => readCookie(cookie, name).split('.');
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const textOf = (cookie: string | null, part: number) =>
    Buffer.from(partsOf(cookie)[part] ?? '', 'base64url').toString();

  return {
    /**
     * @param made the new user; `null` means that there is none, or that the email had one, which the answer must not tell
     * @param to the page that was asked for, below the dashboard
     */
    cookieOf(email: string, made: EmailOwner | null, to = ''): string {
      const proof = proofOf(made?.passwordHash ?? randomBytes(32).toString('hex'));
      return writeCookie(name, [proof, encode(email), encode(to)].join('.'), scope, LIFE_MS);
    },

    /** The email that was given in this browser, for the next pages; `null` without one. */
    emailOf(cookie: string | null): string | null {
      const email = textOf(cookie, 1);
      return isEmail(email) ? email : null;
    },

    /** The page that was asked for before the sign-up, below the dashboard; '' for the overview. */
    toOf: (cookie: string | null): string => returnPath(textOf(cookie, 2)),

    /** Whether the user was made in this browser, with the password that they still have. */
    isOf(cookie: string | null, { passwordHash }: EmailOwner): boolean {
      if (passwordHash === null) return false;
      const [sent, right] = [Buffer.from(partsOf(cookie)[0]!), Buffer.from(proofOf(passwordHash))];
      return sent.length === right.length && timingSafeEqual(sent, right);
    },

    forget: (): string => writeCookie(name, '', scope, 0),
  };
}
