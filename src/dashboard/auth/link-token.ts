import { hash, randomBytes } from 'node:crypto';
import type { PageContext } from '../context.ts';
import { createUserSigner } from '../request/csrf.ts';

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

/**
 * The tokens in links that reset a password: better-auth's, and its user, signed together, because the new password is checked against the
 * user's email before better-auth says whether its own token is used or too old.
 */
export function createResetLinks(secret: string) {
  const users = createUserSigner(secret, 'dashboard reset links');

  return {
    /** @param token better-auth's */
    link: (userId: string, token: string): string => `${token}.${users.sign(userId, [token])}`,

    /** @returns `null` if the link was not made here */
    read(link: string): { token: string; userId: string } | null {
      const end = link.indexOf('.');
      const [token, signed] = [link.slice(0, end), link.slice(end + 1)];
      const userId = users.claimed(signed);
      return users.isSigned(signed, userId, [token]) ? { token, userId } : null;
    },
  };
}
