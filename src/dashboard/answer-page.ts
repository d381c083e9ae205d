import { withTimeout } from '../platform/runtime/timeout.ts';
import { SECOND } from '../platform/units.ts';
import { suspensionOfBrowser } from './account/suspension-text.ts';
import { accountOf } from './auth/members.ts';
import type { PageContext, PageResponse, Tools, Visit } from './context.ts';
import type { CookieScope } from './request/cookies.ts';
import { type FormOwner, formKeyOf, formOwner, formToken, isFormToken, TOKEN_FIELD } from './request/csrf.ts';
import { redirectTo } from './request/forms.ts';
import { messagePage, notFoundPage, ownersOnly } from './request/layout.ts';
import { signedOutPage } from './request/refusals.ts';
import { retry } from './request/retry.ts';
import { pageWithText, pathBelow, returnPath, signInAddress } from './request/return-path.ts';
import { type MemberRoute, ROUTES, type Route } from './routes.ts';
import { formatsOf } from './ui/language.ts';

const ACCOUNT_TIMEOUT_MS = 3 * SECOND;
/** The bound of a page, except `Try it`, whose call has the API's own limits. */
const PAGE_TIMEOUT_MS = 10 * SECOND;

/** Forms that open a session. */
const SIGN_IN_FORMS = ['/sign-in', '/sign-in/code', '/sign-up'];

/** Where owners set up a second factor, before anything else if it is required. */
const SECOND_FACTOR = '/settings/second-factor';

/** A request whose token is taken, with its address. */
type Admitted = Visit & { url: URL };

/** The last stage of a request: the page of its route, as far as the session and the form's token allow it. */
export function createPageAnswer(tools: Tools, cookieScope: CookieScope) {
  const { origin } = new URL(tools.publicUrl);
  const formKey = formKeyOf(tools.secret);

  /** @param leave see {@link PageContext.leave} */
  return async function answerPage(visit: Admitted, leave: () => void): Promise<PageResponse> {
    const { request, session } = visit;
    const owner = formOwner(session?.id ?? null, request.headers.get('cookie'), cookieScope);
    if (owner.setCookie !== null) visit.cookies.push(owner.setCookie);
    const context = contextOf(visit, formToken(formKey, owner), leave);

    const route = ROUTES[visit.path];
    if (route === undefined) return notFoundPage(context);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if ((method !== 'GET' && method !== 'POST') || route[method] === undefined)
      return wrongMethodPage(context, route);

    if (session === null && route.for === 'member') return signInFirst(visit, context, route);
    const refusal = method === 'POST' ? formRefusal(visit, context, owner) : null;
    if (refusal !== null) return refusal;

    if (route.for === 'anyone') return withTimeout(route[method]!(context), PAGE_TIMEOUT_MS, 'the page');
    const page = memberPage(visit, context, route, method);
    return visit.path === '/try' ? page : withTimeout(page, PAGE_TIMEOUT_MS, 'the page');
  };

  /** The answer to a form that its page must not get; `null` if it may. */
  function formRefusal(visit: Admitted, context: PageContext, owner: FormOwner): PageResponse | null {
    const { messages, request, session, form, path } = visit;
    if (session === null && path === '/sign-out') return redirectTo(context, '/sign-in?done=out');
    // Another tab has signed in, or the same form was sent a moment ago.
    if (session !== null && SIGN_IN_FORMS.includes(path))
      return redirectTo(context, returnPath(visit.url.searchParams.get('to')));
    const from = request.headers.get('origin');
    if (from !== null && from !== origin) {
      const lead = messages.wrongAddress(`${tools.publicUrl}/dashboard`);
      return messagePage(context, 403, messages.formExpired, lead);
    }
    if (isFormToken(formKey, owner, context.sent(TOKEN_FIELD))) return null;
    // The price is asked again.
    form?.delete('price');
    const again = from === origin && retry(visit, context.formToken);
    return messagePage(context, 403, messages.formExpired, messages.formExpiredLead, {}, again);
  }

  async function memberPage(
    visit: Admitted,
    context: PageContext,
    route: MemberRoute,
    method: 'GET' | 'POST',
  ) {
    const session = visit.session!;
    const { user } = session;
    const opening = accountOf(tools.sql, user, visit.messages.language);
    const membership = await withTimeout(opening, ACCOUNT_TIMEOUT_MS, 'Postgres');
    const { accountId, role, usageAlerts } = membership;
    visit.trace.account = accountId;
    const account = await tools.readAccount(accountId);
    const member = { ...context, session, user, role, usageAlerts, account };
    const mustSetUp = tools.config.secondFactor === 'owners' && role === 'owner' && !user.hasSecondFactor;
    if (mustSetUp && !visit.path.startsWith(SECOND_FACTOR)) return redirectTo(context, SECOND_FACTOR);
    if (route.ownersOnly && role !== 'owner') return ownersOnly(member);
    // A call can wait for a slow source, and must not keep a place from other pages.
    if (visit.path === '/try') context.leave();
    return route[method]!(member);
  }
}

function contextOf(visit: Admitted, formToken: string, leave: () => void): PageContext {
  const { url, path, form, messages } = visit;
  return {
    ...visit,
    id: pathBelow(url).split('/')[path.split('/').indexOf(':id')] ?? '',
    sent: (name) => form?.get(name) ?? '',
    leave,
    formToken,
    formats: formatsOf(messages.language),
  };
}

function wrongMethodPage(context: PageContext, route: Route): PageResponse {
  const { messages } = context;
  const allow = [route.GET && 'GET, HEAD', route.POST && 'POST'].filter(Boolean).join(', ');
  return messagePage(context, 405, messages.notFound, messages.notFoundLead, { Allow: allow });
}

/** The way to the sign-in for a member's page. */
async function signInFirst(visit: Admitted, context: PageContext, route: Route): Promise<PageResponse> {
  const { request, tools, url, form } = visit;
  const path = pathBelow(url);
  if (request.method !== 'POST') return { redirect: signInAddress(tools.base, path + url.search) };
  // Most forms are on a page with the form's own path.
  const address = signInAddress(tools.base, route.GET ? pageWithText(path, form) : '');
  const reading = suspensionOfBrowser(context);
  const reason = await withTimeout(reading, ACCOUNT_TIMEOUT_MS, 'Postgres').catch(() => null);
  return signedOutPage(visit, address, reason);
}
