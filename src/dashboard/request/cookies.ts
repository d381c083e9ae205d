import { SECOND } from '../../platform/units.ts';

/** Where the browser sends the dashboard's cookies to. */
export interface CookieScope {
  path: string;
  secure: boolean;
}

/** The value of one of the dashboard's cookies; '' if the browser has not sent it. @param header `Cookie` of the request */
export function readCookie(header: string | null, name: string): string {
  return new Bun.CookieMap(header ?? '').get(name) ?? '';
}

/** The `Set-Cookie` for one of the dashboard's cookies. Without a life it ends with the browser. */
export function writeCookie(name: string, value: string, scope: CookieScope, lifeMs?: number): string {
  const life = lifeMs === undefined ? {} : { maxAge: lifeMs / SECOND };
  return new Bun.Cookie(name, value, { ...scope, ...life, httpOnly: true, sameSite: 'lax' }).serialize();
}
