import type { PageContext } from '../request/page-context.ts';

/** The shape of each kind of one-time token. Anything else is a dead link, and no store is asked about it. */
const SHAPES = {
  /** better-auth's identifier. */
  reset: /^[A-Za-z0-9]{24}$/,
  /** A JWT of better-auth's. */
  confirm: /^(?=.{1,2000}$)[\w-]+\.[\w-]+\.[\w-]+$/,
  /** 24 random bytes (invitations.ts). */
  invitation: /^[\w-]{32}$/,
  /** 24 random bytes (email-change.ts). */
  email: /^[\w-]{32}$/,
};

/**
 * The token of a link, out of the page's address or out of its form.
 * @returns null when no token of this kind looks like it
 */
export function linkTokenOf({ request, url, fields }: PageContext, kind: keyof typeof SHAPES): string | null {
  const token = request.method === 'POST' ? fields('token') : (url.searchParams.get('token') ?? '');
  return SHAPES[kind].test(token) ? token : null;
}
