import { hash, randomBytes } from 'node:crypto';
import type { FormContext } from '../request/context.ts';

/** The shape of each kind of one-time token. Any other text is a dead link, without a query. */
const SHAPES = {
  /** better-auth's identifier. */
  reset: /^[A-Za-z0-9]{24}$/,
  /** A JWT of better-auth's. */
  confirm: /^(?=.{1,2000}$)[\w-]+\.[\w-]+\.[\w-]+$/,
  /** Of {@link newLinkToken}. */
  invitation: /^[\w-]{32}$/,
  email: /^[\w-]{32}$/,
};

export type LinkKind = keyof typeof SHAPES;

/**
 * The token of a link, from the page's address or from its form.
 * @returns `null` if no token of this kind looks like it
 */
export function linkTokenOf({ request, url, sent }: FormContext, kind: LinkKind): string | null {
  const token = request.method === 'POST' ? sent('token') : (url.searchParams.get('token') ?? '');
  return SHAPES[kind].test(token) ? token : null;
}

export function newLinkToken(): string {
  return randomBytes(24).toString('base64url');
}

/** Only the hash of a token is stored, so that a copy of the database opens no link. */
export function hashOfToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
