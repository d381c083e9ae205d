import { searchOf } from '../../http/url.ts';
import type { PageResponse } from '../context.ts';

/** Everything is loaded from here. Nothing is inline or framed. */
const DIRECTIVES = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];
const CONTENT_SECURITY_POLICY = DIRECTIVES.join('; ');

/** The policy of a page whose form leads to another site. Its text is escaped, so that no other form can be in it. */
export const POLICY_WITHOUT_FORM_ACTION = DIRECTIVES.filter(
  (directive) => !directive.startsWith('form-action'),
).join('; ');

const HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'private, no-store',
  Vary: 'Accept-Language, Accept-Encoding, Cookie',
};

/**
 * The policy of a page whose address holds a one-time token: not even requests for the dashboard's own files get it as their
 * referrer. With `no-referrer`, browsers send `Origin: null` with the page's form, which is refused as another site's.
 */
const REFERRER_OF_LINKS = 'strict-origin';

/** Whether the address of a request holds a one-time token. Its query is not parsed. */
export const hasLinkToken = ({ url }: Request): boolean => searchOf(url).includes('token=');

/**
 * The HTTP answer of a page, a redirect or a file.
 *
 * @param options.acceptEncoding of the request
 * @param options.cookies to be set before those of the page
 * @param options.hasLinkToken whether the page's address holds a one-time token
 * @param options.isPopup whether another site may have opened the page in a window, and waits for it
 */
export function respond(
  response: PageResponse,
  options: {
    language: string;
    acceptEncoding?: string;
    cookies?: string[];
    hasLinkToken?: boolean;
    isPopup?: boolean;
  },
): Response {
  const { language, acceptEncoding = '', cookies = [], hasLinkToken = false, isPopup = false } = options;
  const headers = new Headers({ ...HEADERS, ...response.headers });
  // It would cut the window off from its opener for good, also once it is back at the opener's site.
  if (isPopup) headers.delete('Cross-Origin-Opener-Policy');
  for (const cookie of [...cookies, ...(response.cookies ?? [])]) headers.append('Set-Cookie', cookie);
  if ('redirect' in response) {
    headers.set('Location', response.redirect);
    return new Response(null, { status: 303, headers });
  }
  if ('file' in response) {
    headers.set('Content-Type', response.type);
    return new Response(response.file, { headers });
  }
  headers.set('Content-Type', 'text/html; charset=utf-8');
  headers.set('Content-Language', language);
  if (hasLinkToken) headers.set('Referrer-Policy', REFERRER_OF_LINKS);
  const { page, status = 200 } = response;
  if (!/\bgzip\b/.test(acceptEncoding)) return new Response(page.markup, { status, headers });
  // The size gives no secret away: a key is in one answer only, and a form's token differs in each.
  headers.set('Content-Encoding', 'gzip');
  return new Response(Bun.gzipSync(page.markup), { status, headers });
}
