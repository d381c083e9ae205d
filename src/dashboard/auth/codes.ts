import { randomInt } from 'node:crypto';
import type { Sql } from '../../platform/postgres/connect.ts';
import { MINUTE } from '../../platform/units.ts';
import { type CookieScope, readCookie, writeCookie } from '../request/cookies.ts';
import { createUserSigner } from '../request/csrf.ts';
import { type EmailOwner, findOwner } from './sessions.ts';

/** Letters and digits without those that look alike on paper: 0 and o, 1, i and l. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const COUNT = 10;
/** Characters of a code: 49 bits of chance, and ten wrong ones lock the codes. */
const LENGTH = 10;

/** New backup codes as they are shown: `k7mpq-3wxyz`. */
export function makeBackupCodes(): string[] {
  const letter = () => LETTERS[randomInt(LETTERS.length)]!;
  return Array.from({ length: COUNT }, () => grouped(Array.from({ length: LENGTH }, letter).join('')));
}

/** A code of the second factor as a user gave it, with any case, hyphens and blanks. */
export interface GivenCode {
  /** Six digits are of the app; all else may be a backup code. */
  kind: 'app' | 'backup';
  /** As better-auth has it. */
  code: string;
}

export function readCode(text: string): GivenCode {
  const plain = text.replace(/[\s\p{Pd}]/gu, '').toLowerCase();
  return /^\d{6}$/.test(plain) ? { kind: 'app', code: plain } : { kind: 'backup', code: grouped(plain) };
}

const grouped = (plain: string) => `${plain.slice(0, LENGTH / 2)}-${plain.slice(LENGTH / 2)}`;

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
