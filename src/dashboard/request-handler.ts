import { dropBody } from '../http/body.ts';
import type { RequestTrace } from '../http/observe.ts';
import { pathOf, searchOf } from '../http/url.ts';
import { NotOwnerError } from '../metering/accounts/rights.ts';
import { isLoopbackHost } from '../platform/config/addresses.ts';
import { isLockTimeout } from '../platform/postgres/connect.ts';
import { OverloadedError, withTimeout } from '../platform/runtime/timeout.ts';
import { DAY, KIB, SECOND } from '../platform/units.ts';
import { suspensionOfBrowser } from './account/suspension-text.ts';
import { accountOf } from './auth/members.ts';
import type { Client, MemberContext, PageContext, PageResponse, Session, Tools, Visit } from './context.ts';
import { MESSAGES } from './messages.ts';
import { createClientAddress } from './request/client-address.ts';
import { cookieScopeOf, pickCookies, readCookie, writeCookie } from './request/cookies.ts';
import { type FormOwner, formKeyOf, formOwner, formToken, isFormToken, TOKEN_FIELD } from './request/csrf.ts';
import { redirectTo } from './request/forms.ts';
import { createKnownBrowsers } from './request/known-browser.ts';
import { messagePage, notFoundPage, ownersOnly } from './request/layout.ts';
import { MAX_FORM_BYTES, MAX_LIST_BYTES, readForm } from './request/read-form.ts';
import {
  createRefusals,
  faultPage,
  type RefusalKind,
  retry,
  signedOutPage,
  unreadPage,
} from './request/refusals.ts';
import { createPlaces, createRequestLimit } from './request/request-limit.ts';
import { hasLinkToken, respond } from './request/respond.ts';
import { pageWithText, pathBelow, returnPath, signInAddress } from './request/return-path.ts';
import { type MemberRoute, ROUTES, type Route } from './routes.ts';
import { formatsOf, languageOf, preferredLanguage } from './ui/language.ts';

/** The bound of reading a session, and of reading its account. */
const READ_TIMEOUT_MS = 3 * SECOND;
/** The bound of a page, except `Try it`, whose call has the API's own limits. */
const PAGE_TIMEOUT_MS = 10 * SECOND;
const WAITING_TIMEOUT_MS = 20 * SECOND;

/** Where owners set up a second factor, before anything else if it is required. */
const SECOND_FACTOR = '/settings/second-factor';

/** The cookie of the language that the reader has chosen in this browser. */
const LANGUAGE = 'dashboard.language';
const LANGUAGE_LIFE_MS = 365 * DAY;

/** Characters of a `Host` that are read: more than a name of this machine has. */
const MAX_HOST = 100;

/** Characters of a `User-Agent` that are kept: as many as a list of sessions can show. */
const MAX_USER_AGENT = 300;

/** A browser's address and headers have 1 or 2 KB. */
const MAX_HEADER_BYTES = 16 * KIB;

/** Stands for a zero byte in an address, which Postgres takes in no text. */
const REPLACEMENT = '%EF%BF%BD';

/**
 * Answers the requests of the dashboard. The stages of each, in this order, and all that a stage reads of the request:
 *
 * 1. pause: the client's address, and one cookie. A client that was refused a moment ago is refused again.
 * 2. size of the headers
 * 3. session, in a place: better-auth's own cookies
 * 4. token, of the member or of the visitor's network
 * 5. the query
 * 6. the form, in no place, because a slow sender would keep one
 * 7. page, in a place: account, the form's token, the route's handler
 *
 * Before its token nothing of a request is split into parts, so that a refused request costs little, whatever its shape.
 */
export function createRequestHandler(tools: Tools) {
  const { origin, hostname } = new URL(tools.publicUrl);
  const cookieScope = cookieScopeOf(tools);
  const browsers = createKnownBrowsers(tools.secret, cookieScope);
  const clientAddress = createClientAddress(tools.config.trustProxy, (peer) =>
    tools.log.warn({ peer }, 'X-Forwarded-For is ignored: TRUST_PROXY does not name its sender'),
  );
  const places = createPlaces();
  const requestLimit = createRequestLimit(tools.rateLimiter);
  const { refuse, refuseHeaders } = createRefusals();
  const formKey = formKeyOf(tools.secret);

  /** As {@link Dashboard.handle}. @param path the key of its route in `ROUTES`; any other text is answered 404 */
  async function handle(
    request: Request,
    peer: string | null,
    path: string,
    trace: RequestTrace,
  ): Promise<Response> {
    const visit: Visit = { ...arrive(request, peer), request, path, route: ROUTES[path] ?? {}, trace, tools };
    if (requestLimit.isPaused(visit.client)) return refuse('too many requests', visit);
    if (hasLongHeaders(request)) return refuseHeaders(request);
    if (hasOtherLoopbackName(request)) return Response.redirect(addressOf(request), 302);
    const response = await answer(visit).catch((error: unknown) => failed(visit, error));
    if (typeof response === 'string') return refuse(response, visit);
    return respond(response, {
      acceptEncoding: request.headers.get('accept-encoding') ?? '',
      cookies: visit.cookies,
      language: visit.messages.lang,
      hasLinkToken: hasLinkToken(request),
      isPopup: isConnecting(visit),
    });
  }

  /** Whether the page is one of the way on which an agent is connected, with the sign-in on it. */
  function isConnecting({ path, route, url, form }: Visit): boolean {
    const to = url?.searchParams.get('to') ?? form?.get('to') ?? '';
    return /^\/connect(\/|$)/.test(route.opensSession ? to.replace(/\?.*/s, '') : path);
  }

  function arrive({ headers }: Request, peer: string | null) {
    const cookie = headers.get('cookie');
    const language =
      languageOf(readCookie(cookie, LANGUAGE)) ?? preferredLanguage(headers.get('accept-language'));
    const client: Client = {
      knownUser: browsers.userOf(cookie),
      ...clientAddress(peer, headers.get('x-forwarded-for')),
      cookie: null,
      language,
      userAgent: headers.get('user-agent')?.slice(0, MAX_USER_AGENT) ?? null,
    };
    return { client, messages: MESSAGES[language], session: null, form: null, cookies: [] };
  }

  async function answer(visit: Visit): Promise<PageResponse | RefusalKind> {
    const { client, path, request } = visit;
    const isAdmitted = await places.within(client, 'page', async () => {
      await readSession(visit);
      return requestLimit.take(client, visit.session?.user.id ?? null);
    });
    if (!isAdmitted) return 'too many requests';
    const url = readQuery(visit);

    const route = ROUTES[path];
    const hasForm = request.method === 'POST' && route?.POST !== undefined;
    if (hasForm && (visit.session !== null || route.for === 'anyone')) {
      const maxBytes = route.hasList === true && visit.session !== null ? MAX_LIST_BYTES : MAX_FORM_BYTES;
      const form = await readForm(request, tools.stopping, maxBytes);
      if (typeof form === 'string') return unreadPage(visit, form, maxBytes);
      visit.form = form;
    }
    const kind = hasForm && route.hasPassword === true ? 'password' : 'page';
    const page = async () => {
      await dropBody(request);
      return places.within(client, kind, (leave) => answerPage(visit, url, leave));
    };
    return hasForm && visit.form === null ? keepingForm(visit, page) : page();
  }

  async function readSession(visit: Visit): Promise<void> {
    const { request, client, cookies } = visit;
    client.cookie = pickCookies(request.headers.get('cookie'), tools.auth.cookieNames);
    const reading = tools.auth.session(client.cookie);
    const { session, cookies: prolonging } = await withTimeout(reading, READ_TIMEOUT_MS, 'Postgres');
    visit.session = session;
    cookies.push(...prolonging);
    if (session !== null && session.user.id !== client.knownUser) {
      cookies.push(browsers.cookieOf(session.user.id));
    }
  }

  function readQuery(visit: Visit): URL {
    const url = new URL(addressOf(visit.request));
    visit.url = url;
    const asked = languageOf(url.searchParams.get('lang'));
    if (asked !== null) {
      visit.cookies.push(writeCookie(LANGUAGE, asked, cookieScope, LANGUAGE_LIFE_MS));
      visit.client.language = asked;
      visit.messages = MESSAGES[asked];
    }
    return url;
  }

  /**
   * Makes a page for a form whose session has ended, or can't be read. The page keeps the form if it is short, and few are kept at the
   * moment.
   */
  async function keepingForm<T>(visit: Visit, makePage: () => T): Promise<Awaited<T>> {
    const { client, route, request } = visit;
    const isKept = request.method === 'POST' && route.resends !== undefined;
    const leave = isKept ? await places.enter(client, 'kept form').catch(() => null) : null;
    try {
      const form = leave && (await readForm(request, tools.stopping, MAX_FORM_BYTES));
      if (typeof form !== 'string') visit.form = form;
      return await makePage();
    } finally {
      leave?.();
    }
  }

  /**
   * The last stage of a request: the page of its route, as far as the session and the form's token allow it.
   * @param leave see {@link PageContext.leave}
   */
  async function answerPage(visit: Visit, url: URL, leave: () => void): Promise<PageResponse> {
    const { request, session, path, form, messages } = visit;
    const owner = formOwner(session?.id ?? null, request.headers.get('cookie'), cookieScope);
    if (owner.setCookie !== null) visit.cookies.push(owner.setCookie);
    const context: PageContext = {
      ...visit,
      url,
      id: pathBelow(url).split('/')[path.split('/').indexOf(':id')] ?? '',
      sent: (name) => form?.get(name) ?? '',
      leave,
      formToken: formToken(formKey, owner),
      formats: formatsOf(messages.language),
    };
    const route = ROUTES[path];
    if (route === undefined) return notFoundPage(context);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if ((method !== 'GET' && method !== 'POST') || route[method] === undefined) {
      const Allow = [route.GET && 'GET, HEAD', route.POST && 'POST'].filter(Boolean).join(', ');
      return messagePage(context, 405, messages.notFound, messages.notFoundLead, { Allow });
    }
    if (session === null && route.for === 'member') return signInFirst(context, route);
    const refusal = method === 'POST' ? formRefusal(context, owner) : null;
    if (refusal !== null) return refusal;
    if (route.for === 'anyone') return withTimeout(route[method]!(context), PAGE_TIMEOUT_MS, 'the page');
    const page = memberPage({ ...context, session: session! }, route, method);
    const timeoutMs = route.waits ? WAITING_TIMEOUT_MS : PAGE_TIMEOUT_MS;
    return route.calls ? page : withTimeout(page, timeoutMs, 'the page');
  }

  /** The answer to a form that its page must not get; `null` if it may. */
  function formRefusal(context: PageContext, owner: FormOwner): PageResponse | null {
    const { messages, request, session, form, route, url } = context;
    if (session === null && route.endsSession) return redirectTo(context, '/sign-in?done=out');
    // Another tab has signed in, or the same form was sent a moment ago.
    if (session !== null && route.opensSession)
      return redirectTo(context, returnPath(url.searchParams.get('to')));
    const from = request.headers.get('origin');
    if (from !== null && from !== origin) {
      const lead = messages.wrongAddress(`${tools.publicUrl}/dashboard`);
      return messagePage(context, 403, messages.formExpired, lead);
    }
    if (isFormToken(formKey, owner, context.sent(TOKEN_FIELD))) return null;
    // The price is asked again.
    form?.delete('price');
    const again = from === origin && retry(context, context.formToken);
    return messagePage(context, 403, messages.formExpired, messages.formExpiredLead, {}, again);
  }

  async function memberPage(
    context: PageContext & { session: Session },
    route: MemberRoute,
    method: 'GET' | 'POST',
  ) {
    const { user } = context.session;
    const opening = accountOf(tools.sql, user, context.messages.language);
    const { accountId, ...membership } = await withTimeout(opening, READ_TIMEOUT_MS, 'Postgres');
    context.trace.account = accountId;
    const account = await tools.readAccount(accountId);
    const member: MemberContext = { ...context, ...membership, user, account };
    const mustSetUp =
      tools.config.secondFactor === 'owners' && member.role === 'owner' && !user.hasSecondFactor;
    if (mustSetUp && !context.path.startsWith(SECOND_FACTOR)) return redirectTo(context, SECOND_FACTOR);
    if (route.ownersOnly && member.role !== 'owner') return ownersOnly(member);
    // A call can wait for a slow source, and must not keep a place from other pages.
    if (route.calls) context.leave();
    return route[method]!(member);
  }

  async function failed(visit: Visit, error: unknown): Promise<PageResponse | RefusalKind> {
    if (error instanceof NotOwnerError) return ownersOnly(visit);
    if (error instanceof OverloadedError || isLockTimeout(error)) return 'busy';
    const { requestId } = visit.trace;
    tools.log.error({ err: error, requestId }, 'a page of the dashboard failed');
    if (visit.url !== undefined) return faultPage(visit);
    // The session could not be read, so the request is a visitor's.
    if (!(await requestLimit.take(visit.client, null))) return 'too many requests';
    return keepingForm(visit, () => faultPage(visit));
  }

  /** At the service's own origin, because the client's Host can be any text. */
  const addressOf = ({ url }: Request) => origin + pathOf(url) + searchOf(url).replaceAll('%00', REPLACEMENT);

  /**
   * Whether a browser on this machine says `localhost` for the `127.0.0.1` of the public address, or the other way round. Its
   * forms would be refused as another site's.
   */
  function hasOtherLoopbackName({ method, headers }: Request): boolean {
    if (method !== 'GET' || !isLoopbackHost(hostname)) return false;
    const asked = (headers.get('host') ?? '').slice(0, MAX_HOST).replace(/:\d*$/, '').toLowerCase();
    return asked !== hostname && isLoopbackHost(asked);
  }

  return handle;
}

/**
 * Whether a request's address and headers are too long for a page. The server itself takes 64 KiB, because a long `q` of the API is a
 * search that costs a credit.
 */
function hasLongHeaders({ url, headers }: Request): boolean {
  let bytes = url.length;
  // With its colon, blank and line end.
  for (const [name, value] of headers) bytes += name.length + value.length + 4;
  return bytes > MAX_HEADER_BYTES;
}

/** The way to the sign-in for a member's page. */
async function signInFirst(context: PageContext, route: Route): Promise<PageResponse> {
  const { request, tools, url, form } = context;
  const path = pathBelow(url);
  if (request.method !== 'POST') return { redirect: signInAddress(tools.base, path + url.search) };
  // Most forms are on a page with the form's own path.
  const address = signInAddress(tools.base, route.GET ? pageWithText(path, form, route) : '');
  const reading = suspensionOfBrowser(context);
  const reason = await withTimeout(reading, READ_TIMEOUT_MS, 'Postgres').catch(() => null);
  return signedOutPage(context, address, reason);
}
