import { hash, randomBytes, randomInt } from 'node:crypto';
import { MINUTE } from '../../platform/units.ts';
import type { PageContext } from '../context.ts';

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

/**
 * A code of the second factor as a user gave it, with any case, hyphens and blanks. Six digits are of the app; all else may be a backup code.
 * @returns `code` as better-auth has it
 */
export function readCode(text: string): { kind: 'app' | 'backup'; code: string } {
  const plain = text.replace(/[\s\p{Pd}]/gu, '').toLowerCase();
  return /^\d{6}$/.test(plain) ? { kind: 'app', code: plain } : { kind: 'backup', code: grouped(plain) };
}

const grouped = (plain: string) => `${plain.slice(0, LENGTH / 2)}-${plain.slice(LENGTH / 2)}`;

/** A right password waits this long for the code of the second factor, or for five wrong ones. */
export const CODE_WAIT_MS = 10 * MINUTE;

/** The letters of every kind of one-time token: better-auth's, a JWT, and those of {@link newLinkToken}. */
const TOKEN = /^[\w.-]{1,2000}$/;

/**
 * The token of a link, from the page's address or from its form.
 * @returns `null` for any other text, which Postgres could refuse
 */
export function linkTokenOf({ request, url, sent }: PageContext): string | null {
  const token = request.method === 'POST' ? sent('token') : (url.searchParams.get('token') ?? '');
  return TOKEN.test(token) ? token : null;
}

export function newLinkToken(): string {
  return randomBytes(24).toString('base64url');
}

/** Only the hash of a token is stored, so that a copy of the database opens no link. */
export function hashOfToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
