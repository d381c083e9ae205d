import type { Sql } from '../../platform/postgres/connect.ts';
import { MINUTE } from '../../platform/units.ts';
import { type CookieScope, readCookie, writeCookie } from '../request/cookies.ts';
import { createUserSigner } from '../request/signed-user.ts';
import { type EmailOwner, findOwner } from './sessions.ts';

/** A right password waits this long for the code of the second factor, or for five wrong ones. */
export const CODE_WAIT_MS = 10 * MINUTE;

/** A sign-in whose password was right, which awaits a code. */
export interface AwaitedCode {
  member: EmailOwner;
  /** better-auth's cookie of this sign-in, which the code needs, alone. */
  cookie: string;
}

/**
 * Sign-ins that await the code of a second factor. better-auth's own cookie is a secret that it tells nothing about. So a second cookie
 * names its user, signed together with the first one and the password: a reset of the password ends it.
 *
 * @param names of the cookies: better-auth's, and ours
 */
export function createAwaitedCodes(
  { sql, secret }: { sql: Sql; secret: string },
  names: { code: string; codeOwner: string },
  scope: CookieScope,
) {
  const users = createUserSigner(secret, 'dashboard codes');
  const bound = (code: string, { passwordHash }: EmailOwner) => [code, passwordHash ?? ''];

  return {
    /** The `Set-Cookie` that names the user. @param cookies `Set-Cookie` values of better-auth's answer to a right password */
    cookieOf(member: EmailOwner, cookies: string[]): string {
      const code =
        cookies.map((cookie) => readCookie(cookie, names.code)).find((value) => value !== '') ?? '';
      const value = users.sign(member.userId, bound(code, member));
      return writeCookie(names.codeOwner, value, scope, CODE_WAIT_MS);
    },

    /** The sign-in of this browser that awaits a code; `null` means that none does. better-auth checks its cookie with the code. */
    async find(cookie: string | null): Promise<AwaitedCode | null> {
      const [code, owner] = [readCookie(cookie, names.code), readCookie(cookie, names.codeOwner)];
      const userId = users.claimed(owner);
      if (code === '' || userId === '') return null;
      const member = await findOwner(sql, { userId });
      if (member === null || !users.isSigned(owner, userId, bound(code, member))) return null;
      return { member, cookie: `${names.code}=${code}` };
    },

    /** The `Set-Cookie` after which no code is awaited. */
    forget: () => writeCookie(names.codeOwner, '', scope, 0),
  };
}
