import type { Unread } from '../http/body.ts';
import type { RequestTrace } from '../http/observe.ts';
import { pathOf, searchOf } from '../http/url.ts';
import { NotOwnerError } from '../metering/accounts/rights.ts';
import { isLoopbackHost } from '../platform/config/addresses.ts';
import { isLockTimeout } from '../platform/postgres/connect.ts';
import { createGate } from '../platform/runtime/gate.ts';
import { OverloadedError, withTimeout } from '../platform/runtime/timeout.ts';
import { DAY, KIB, SECOND } from '../platform/units.ts';
import { accountOf } from './auth/members.ts';
import type { PageContext, Tools } from './page-context.ts';
import { createClientAddress } from './request/client-address.ts';
import { type PageResponse, redirectTo } from './request/context.ts';
import { readCookie, writeCookie } from './request/cookies.ts';
import { formKeyOf, formOwner, formToken, isFormToken, TOKEN_FIELD } from './request/csrf.ts';
import { createKnownBrowsers } from './request/known-browser.ts';
import { cardPage, messagePage, notFoundPage, ownersOnly } from './request/layout.ts';
import { maxFormBytes, readForm } from './request/read-form.ts';
import { createRefusals, type RefusalKind } from './request/refusals.ts';
import { clientName, createRequestLimit } from './request/request-limit.ts';
import { respond } from './request/respond.ts';
import { keptList, retry } from './request/retry.ts';
import { pageWithText, pathBelow, resentFields, signInAddress } from './request/return-path.ts';
import { ROUTES } from './routes.ts';
import { html } from './ui/html.ts';
import { formatsOf, languageOf, preferredLanguage } from './ui/language.ts';
import { MESSAGES } from './ui/messages.ts';
import { filled } from './ui/state-text.ts';

const SESSION_TIMEOUT_MS = 3 * SECOND;
/** The bound of a page, except `Try it`, whose call has the API's own limits. */
const PAGE_TIMEOUT_MS = 10 * SECOND;
const MAX_WAIT_MS = 4 * SECOND;
/** Few pages are made at a time, because the API shares the process. All pages share four connections. */
const PAGES = { places: 4, placesOfOne: 2, maxWaiting: 200, maxWaitMs: MAX_WAIT_MS };
/** A form with a password keeps a core busy for 60 to 100 ms (scrypt). So it takes no page's place. */
const PASSWORDS = { places: 2, placesOfOne: 1, maxWaiting: 24, maxWaitMs: MAX_WAIT_MS };

/** The cookie of the language that the reader has chosen in this browser. */
const LANGUAGE = 'dashboard.language';
const LANGUAGE_LIFE_MS = 365 * DAY;

/** Characters of a `User-Agent` that are kept: as many as a list of sessions can show. */
const MAX_USER_AGENT = 300;

/** Forms that open a session. */
const SIGN_IN_FORMS = ['/sign-in', '/sign-in/code', '/sign-up'];

/** Where owners set up a second factor, before anything else if it is required. */
const SECOND_FACTOR = '/settings/second-factor';

/** A request before its session is known. */
type Incoming = Pick<PageContext, 'request' | 'url' | 'client' | 'messages' | 'tools' | 'trace'> & {
  /** The key of its route in `ROUTES`; any other text is no page. */
  path: string;
  /** As far as it was read; `null` without one. */
  form: URLSearchParams | null;
  /** To be set with the answer. */
  cookies: string[];
};

/**
 * The stages of every request before its page, in this order: the request limit, a place among the requests in flight, the
 * session, the form's token, the account.
 */
export function createRequestHandler(tools: Tools) {
  const formKey = formKeyOf(tools.secret);
  const { origin, hostname } = new URL(tools.publicUrl);
  // Browsers of members have places that visitors can't fill.
  const [ofMembers, ofVisitors] = [createGates(), createGates()];
  const refuse = createRefusals();
  const requestLimit = createRequestLimit(tools.rateLimiter);
  const cookieOptions = { path: tools.base, secure: origin.startsWith('https:') };
  const browsers = createKnownBrowsers(tools.secret, cookieOptions);
  const clientAddress = createClientAddress(tools.config.trustProxy, (peer) =>
    tools.log.warn({ peer }, 'X-Forwarded-For is ignored: TRUST_PROXY does not name its sender'),
  );

  /** As {@link Dashboard.handle}. @param path the key of its route in `ROUTES`; any other text is answered 404 */
  async function handle(
    request: Request,
    peer: string | null,
    path: string,
    trace: RequestTrace,
  ): Promise<Response> {
    const { headers } = request;
    // At the service's own origin, because the client's Host can be any text.
    const search = searchOf(request.url).replaceAll('%00', REPLACEMENT);
    const url = new URL(origin + pathOf(request.url) + search);
    const cookie = headers.get('cookie');
    const asked = languageOf(url.searchParams.get('lang'));
    const language =
      asked ?? languageOf(readCookie(cookie, LANGUAGE)) ?? preferredLanguage(headers.get('accept-language'));
    const client = {
      cookie,
      knownUser: browsers.userOf(cookie),
      ...clientAddress(peer, headers.get('x-forwarded-for')),
      language,
      userAgent: headers.get('user-agent')?.slice(0, MAX_USER_AGENT) ?? null,
    };
    const messages = MESSAGES[language];
    const cookies = asked === null ? [] : [writeCookie(LANGUAGE, asked, cookieOptions, LANGUAGE_LIFE_MS)];
    const incoming: Incoming = { request, url, path, client, messages, tools, trace, cookies, form: null };
    if (requestLimit.isPaused(client)) {
      if (isResent(incoming)) await readFormOf(incoming);
      return refuse('too many requests', incoming);
    }
    if (hasOtherLoopbackName(request)) return Response.redirect(url.href, 302);

    const response = await answer(incoming).catch((error: unknown) => failed(incoming, error));
    if (typeof response === 'string') return refuse(response, incoming);
    return respond(response, {
      acceptEncoding: headers.get('accept-encoding') ?? '',
      cookies,
      language: messages.lang,
      hasLinkToken: url.searchParams.has('token'),
    });
  }

  async function answer(incoming: Incoming): Promise<PageResponse | RefusalKind> {
    const { request, path, client } = incoming;
    // Before it has a place, because a slow sender would keep one.
    const hasForm = request.method === 'POST' && ROUTES[path]?.POST !== undefined;
    const unread = hasForm ? await readFormOf(incoming) : null;
    if (unread !== null) return unreadPage(incoming, unread);
    const { pages, passwords } = client.knownUser === null ? ofVisitors : ofMembers;
    const gate = hasForm && ROUTES[path]?.hasPassword === true ? passwords : pages;
    const leave = await gate.enter(clientName(client));
    return admit(incoming, leave).finally(leave);
  }

  /** @returns why it was not read, `null` if it was: it is in `incoming` then */
  async function readFormOf(incoming: Incoming): Promise<Unread | null> {
    const form = await readForm(incoming.request, tools.stopping, formBytesOf(incoming));
    if (typeof form === 'string') return form;
    incoming.form = form;
    return null;
  }

  /** @param leave see {@link PageContext.leave} */
  async function admit(incoming: Incoming, leave: () => void): Promise<PageResponse | RefusalKind> {
    const { request, url, client, messages, cookies, form } = incoming;
    const reading = tools.auth.session(client.cookie);
    const { session, cookies: prolonging } = await withTimeout(reading, SESSION_TIMEOUT_MS, 'Postgres');
    cookies.push(...prolonging);
    if (!(await requestLimit.take(client, session?.user.id ?? null))) return 'too many requests';
    if (session !== null && session.user.id !== client.knownUser) {
      cookies.push(browsers.cookieOf(session.user.id));
    }

    const opening = session && accountOf(tools.sql, session.user, messages.language);
    const membership = opening && (await withTimeout(opening, SESSION_TIMEOUT_MS, 'Postgres'));
    const owner = formOwner(session?.id ?? null, client.cookie, cookieOptions);
    if (owner.setCookie !== null) cookies.push(owner.setCookie);
    const path = pathBelow(url);
    const context: PageContext = {
      ...incoming,
      id: path.split('/')[incoming.path.split('/').indexOf(':id')] ?? '',
      sent: (name) => form?.get(name) ?? '',
      leave,
      session,
      formToken: formToken(formKey, owner),
      formats: formatsOf(messages.language),
    };

    const route = ROUTES[incoming.path];
    if (route === undefined) return notFoundPage(context);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if ((method !== 'GET' && method !== 'POST') || route[method] === undefined) {
      const allow = [route.GET && 'GET, HEAD', route.POST && 'POST'].filter(Boolean).join(', ');
      return messagePage(context, 405, messages.notFound, messages.notFoundLead, { Allow: allow });
    }

    if (session === null && route.for === 'member') {
      if (form === null) return { redirect: signInAddress(tools.base, path + url.search) };
      // Most forms are on a page with the form's own path.
      const signIn = signInAddress(tools.base, route.GET ? pageWithText(path, form) : '');
      return signedOutPage(context, signIn, form.get('list') ?? '');
    }
    if (form !== null) {
      if (session === null && path === '/sign-out') return redirectTo(context, '/sign-in?done=out');
      // Another tab has signed in, or the same form was sent a moment ago.
      if (session !== null && SIGN_IN_FORMS.includes(path)) return redirectTo(context, '');
      const from = request.headers.get('origin');
      if (from !== null && from !== origin) {
        const lead = messages.wrongAddress(`${tools.publicUrl}/dashboard`);
        return messagePage(context, 403, messages.formExpired, lead);
      }
      if (!isFormToken(formKey, owner, form.get(TOKEN_FIELD) ?? '')) {
        // The price is asked again.
        form.delete('price');
        const again = from === origin && retry(incoming, context.formToken);
        return messagePage(context, 403, messages.formExpired, messages.formExpiredLead, {}, again);
      }
    }

    if (route.for === 'anyone') return withTimeout(route[method]!(context), PAGE_TIMEOUT_MS, 'the page');
    const { accountId, role, usageAlerts } = membership!;
    const { user } = session!;
    context.trace.account = accountId;
    const page = tools.readAccount(accountId).then((account) => {
      const member = { ...context, session: session!, user, role, usageAlerts, account };
      const mustSetUp = tools.config.secondFactor === 'owners' && role === 'owner' && !user.hasSecondFactor;
      if (mustSetUp && !path.startsWith(SECOND_FACTOR)) return redirectTo(context, SECOND_FACTOR);
      if (route.ownersOnly && role !== 'owner') return ownersOnly(member);
      // A call can wait for a slow source, and must not keep a place from other pages.
      if (path === '/try') leave();
      return route[method]!(member);
    });
    return path === '/try' ? page : withTimeout(page, PAGE_TIMEOUT_MS, 'the page');
  }

  function failed(incoming: Incoming, error: unknown): PageResponse | RefusalKind {
    if (error instanceof NotOwnerError) return ownersOnly(incoming);
    if (error instanceof OverloadedError || isLockTimeout(error)) return 'busy';
    const { requestId } = incoming.trace;
    tools.log.error({ err: error, requestId }, 'a page of the dashboard failed');
    return faultPage(incoming);
  }

  /**
   * Whether a browser on this machine says `localhost` for the `127.0.0.1` of the public address, or the other way round. Its
   * forms would be refused as another site's.
   */
  function hasOtherLoopbackName({ method, headers }: Request): boolean {
    const asked = (headers.get('host') ?? '').replace(/:\d*$/, '').toLowerCase();
    return method === 'GET' && asked !== hostname && isLoopbackHost(hostname) && isLoopbackHost(asked);
  }

  return handle;
}

const formBytesOf = ({ path, client }: Incoming) =>
  maxFormBytes(ROUTES[path]?.hasList === true && client.knownUser !== null);

const createGates = () => ({ pages: createGate(PAGES), passwords: createGate(PASSWORDS) });

/** Whether the form of a request is worth being read though the request is refused. */
const isResent = ({ request, path, client }: Incoming) =>
  request.method === 'POST' &&
  client.knownUser !== null &&
  resentFields(path, new URLSearchParams()) !== null;

/** The page for a member's form that came without a session. @param list that it had; '' without one */
function signedOutPage(context: PageContext, signIn: string, list: string): PageResponse {
  const { messages } = context;
  const body = html`${list !== '' && keptList(messages.keptList, list, true)}<p><a class="button" href="${signIn}">${messages.signIn}</a></p>`;
  return cardPage(context, { title: messages.signedOut, lead: messages.signedOutLead, status: 403, body });
}

/** Stands for a zero byte in an address, which Postgres takes in no text. */
const REPLACEMENT = '%EF%BF%BD';

// The rest of the body is not read, so the connection can't be used again.
const CLOSE = { Connection: 'close' };
const RETRY = { 'Retry-After': '5' };

/** The page for a form that was not read. */
function unreadPage(incoming: Incoming, reason: Unread): PageResponse {
  const { messages } = incoming;
  const page = (status: number, lead: string, headers = {}) =>
    messagePage(incoming, status, messages.failed, lead, { ...CLOSE, ...headers });
  if (reason === 'too large') return page(413, messages.formTooLarge(String(formBytesOf(incoming) / KIB)));
  if (reason === 'stopping') return page(503, messages.tryAgain, RETRY);
  // nginx's status, for the log and the metrics: the sender has left.
  return page(reason === 'gone' ? 499 : 408, messages.formTooSlow);
}

/** The page for a fault, nearly always that Postgres is away. */
function faultPage(incoming: Incoming): PageResponse {
  const { messages, trace } = incoming;
  const { postgresAway } = messages.states;
  const hasCalled = trace.keyId !== undefined;
  const lead = filled(hasCalled ? { ...postgresAway, cost: messages.chargedPerhaps } : postgresAway);
  return messagePage(incoming, 503, messages.failed, lead, RETRY, retry(incoming));
}
