import { hash, randomBytes } from 'node:crypto';
import type { PageContext } from '../context.ts';

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
