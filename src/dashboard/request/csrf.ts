import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { DAY } from '../../platform/units.ts';
import { type CookieScope, readCookie, writeCookie } from './cookies.ts';

/** A form can be sent this long after its page was made. */
export const TOKEN_LIFE_MS = 1 * DAY;
const COOKIE = 'dashboard.form';
const VISITOR = /^[\w-]{22}$/;

/** The field of every form that holds its token. */
export const TOKEN_FIELD = 'form_token';

/**
 * The holder of a form's token: the session, or a random cookie if there is none. An attacker can fetch a token, but it does
 * not work in another browser.
 */
export interface FormOwner {
  id: string;
  /** The cookie to set; `null` if the browser has it, or a session. */
  setCookie: string | null;
}

export function formOwner(sessionId: string | null, cookie: string | null, scope: CookieScope): FormOwner {
  if (sessionId !== null) return { id: `session:${sessionId}`, setCookie: null };
  const known = readCookie(cookie, COOKIE);
  if (VISITOR.test(known)) return { id: `visitor:${known}`, setCookie: null };
  const id = randomBytes(16).toString('base64url');
  return { id: `visitor:${id}`, setCookie: writeCookie(COOKIE, id, scope) };
}

/** A key for one use, so that its signatures are worth nothing in another. better-auth signs with the secret itself. */
export function keyFor(secret: string, use: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', use, 32));
}

export const formKeyOf = (secret: string) => keyFor(secret, 'dashboard forms').toString('base64url');

/** A signed token of Bun's, different at each call, so that the size of a compressed page gives nothing away. */
export function formToken(key: string, owner: FormOwner): string {
  return Bun.CSRF.generate(`${key}:${owner.id}`, { expiresIn: TOKEN_LIFE_MS, encoding: 'base64url' });
}

export function isFormToken(key: string, owner: FormOwner, token: string): boolean {
  if (token === '' || token.length > 200) return false;
  return Bun.CSRF.verify(token, {
    secret: `${key}:${owner.id}`,
    maxAge: TOKEN_LIFE_MS,
    encoding: 'base64url',
  });
}

/**
 * Bytes that are the same whenever a form is sent again, so that a form that is sent twice creates one thing. They look
 * random without the key. Each page has its own token with 128 random bits, which is stored nowhere.
 *
 * @param secret the dashboard's secret; @param token the form's token, verified; @param content the request of the form
 */
export function bytesOfForm(secret: string, token: string, content: string, count: number): Buffer {
  const key = keyFor(secret, 'dashboard forms sent once');
  return createHmac('sha256', key).update(`${token}\n${content}`).digest().subarray(0, count);
}
