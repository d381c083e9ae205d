import { SECOND } from '../../platform/units.ts';

/** Where the browser sends the dashboard's cookies to. */
export interface CookieScope {
  path: string;
  secure: boolean;
}

/** @param tools the path of the dashboard, and the service's own address */
export const cookieScopeOf = ({ base, publicUrl }: { base: string; publicUrl: string }): CookieScope => ({
  path: base,
  secure: new URL(publicUrl).protocol === 'https:',
});

/**
 * The value of one cookie as it was sent; '' if the browser has not sent it. The other cookies are not parsed, because a header of
 * 62 KB of them takes 9 ms.
 *
 * @param header `Cookie` of the request
 */
export function readCookie(header: string | null, name: string): string {
  if (header === null) return '';
  const start = `${name}=`;
  for (let at = header.indexOf(start); at !== -1; at = header.indexOf(start, at + start.length)) {
    // A longer name can end with this one.
    if (at > 0 && !SEPARATORS.includes(header[at - 1]!)) continue;
    const end = header.indexOf(';', at);
    return header.slice(at + start.length, end === -1 ? undefined : end).trim();
  }
  return '';
}

const SEPARATORS = '; \t';

/** A `Cookie` header with the named cookies alone; `null` if the browser has sent none of them. */
export function pickCookies(header: string | null, names: string[]): string | null {
  const found = names.map((name) => [name, readCookie(header, name)]).filter(([, value]) => value !== '');
  return found.length === 0 ? null : found.map((pair) => pair.join('=')).join('; ');
}

/** The `Set-Cookie` for one of the dashboard's cookies. Without a life it ends with the browser; a life of 0 removes it. */
export function writeCookie(name: string, value: string, scope: CookieScope, lifeMs?: number): string {
  const life = lifeMs === undefined ? {} : { maxAge: lifeMs / SECOND };
  return new Bun.Cookie(name, value, { ...scope, ...life, httpOnly: true, sameSite: 'lax' }).serialize();
}
