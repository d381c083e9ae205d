/** GET /dashboard/connect, the authorization endpoint: keeps the request of a client, and leads to the sign-in. */
import { randomBytes } from 'node:crypto';
import { takesConnections } from '../../mcp/resource.ts';
import { REQUEST_S, storeRequest } from '../../metering/connections/requests.ts';
import { SECOND } from '../../platform/units.ts';
import { connectsOf, countAttempt } from '../auth/limits.ts';
import type { PageContext, PageResponse } from '../context.ts';
import { cookieScopeOf, readCookie, writeCookie } from '../request/cookies.ts';
import { redirectTo, tooMany } from '../request/forms.ts';
import { messagePage, notFoundPage } from '../request/layout.ts';
import { isRedirect } from './redirects.ts';

/** The cookie of the browser that has begun a request, so that no other browser can consent to it. */
const COOKIE = 'dashboard.connect';
const BROWSER = /^[\w-]{22}$/;

/** The parameters that are kept. */
const KEPT = ['response_type', 'code_challenge', 'code_challenge_method', 'state', 'resource'];
const MAX_CLIENT_ID = 300;
const MAX_PARAMETERS = 4000;

/** The browser of a request; '' if it has begun none. */
export function browserOf({ request }: PageContext): string {
  const cookie = readCookie(request.headers.get('cookie'), COOKIE);
  return BROWSER.test(cookie) ? cookie : '';
}

/**
 * Nothing is fetched for a visitor, so the client is not known yet, and no address of the request is trusted. A request that can't be one
 * gets a page, and all others wait for their member.
 */
export async function authorize(context: PageContext): Promise<PageResponse> {
  const { tools, url, client, messages } = context;
  if (!takesConnections(tools.publicUrl)) return notFoundPage(context);
  const sent = url.searchParams;
  const clientId = sent.get('client_id') ?? '';
  const redirectUri = sent.get('redirect_uri') ?? '';
  // By a set: a comparison of each name with all others takes a third of a second for an address of 16 KiB.
  const isOnce = new Set(sent.keys()).size === sent.size;
  const isClient = clientId !== '' && clientId.length <= MAX_CLIENT_ID;
  if (!isOnce || !isClient || !isRedirect(redirectUri) || url.search.length > MAX_PARAMETERS)
    return messagePage(context, 400, messages.connectInvalid, messages.connectInvalidLead);
  const refusal = tooMany(context, await countAttempt(tools.sql, ...connectsOf(client)));
  if (refusal !== null)
    return messagePage(context, 429, messages.tooManyRequests, refusal.message, refusal.headers);
  const parameters = Object.fromEntries(
    KEPT.flatMap((name) => (sent.has(name) ? [[name, sent.get(name)!]] : [])),
  );
  const browser = browserOf(context) || randomBytes(16).toString('base64url');
  const id = await storeRequest(tools.sql, browser, { clientId, redirectUri, parameters });
  const cookie = writeCookie(COOKIE, browser, cookieScopeOf(tools), REQUEST_S * SECOND);
  return redirectTo(context, `/connect/consent?request=${id}`, [cookie]);
}
