import { pathOf, searchOf } from '../../http/url.ts';
import { isLoopbackHost } from '../../loopback.ts';
import { LOCK_NOT_AVAILABLE } from '../../postgres/connect.ts';
import { OverloadedError, withTimeout } from '../../runtime/timeout.ts';
import { SECOND } from '../../units.ts';
import { accountOf } from '../auth/members.ts';
import { type Match, matchRoute } from '../routes.ts';
import { html } from '../ui/html.ts';
import { chosenLanguage, formatsOf, languageCookie, languageOf, preferredLanguage } from '../ui/language.ts';
import { cardPage, messagePage } from '../ui/layout.ts';
import { TEXTS } from '../ui/texts.ts';
import type { ReadClientAddress } from './client-address.ts';
import { formKeyOf, formOwner, formToken, isFormToken, TOKEN_FIELD } from './csrf.ts';
import { fieldsOf } from './fields.ts';
import { readForm, type Unread } from './form.ts';
import { createGate } from './gate.ts';
import { createRefusals, type RefusalKind } from './refusals.ts';
import { createRequestLimit, nameOf } from './request-limit.ts';
import { respond } from './respond.ts';
import { pageWithText, pathBelow, signInAddress } from './return-path.ts';
import { type MemberVisit, type Reply, redirectTo, type Tools, type Visit } from './visit.ts';

const SESSION_TIMEOUT_MS = 3 * SECOND;
/** A page that is not there by then is given up. Calls made by hand have the API's own limits, which are longer. */
const PAGE_TIMEOUT_MS = 10 * SECOND;
/** nginx's status for a request whose sender closed the connection. */
const CLIENT_CLOSED = 499;
/** The dashboard shares its process with the API: pages are made few at a time, over a pool of half as many connections. */
const GATE = { maxRunning: 8, maxWaiting: 24, maxWaitMs: 4 * SECOND, maxOfOne: 12 };

/** Characters of a browser's name for itself that are kept. */
const MAX_USER_AGENT = 300;

/** Forms that open a session. */
const ENTRIES = ['/sign-in', '/sign-up'];

interface ReceptionParts {
  clientAddress: ReadClientAddress;
  tools: Tools;
}

export interface Reception {
  receive(
    request: Request,
    peer: string | null,
    match: Match | null,
    trace: Visit['trace'],
  ): Promise<Response>;
}

/**
 * What every request passes before its page: is there room for it, who is it, does the form come from a page of ours, and may
 * they see what they ask for. In this order, in one place.
 */
export function createReception({ clientAddress, tools }: ReceptionParts): Reception {
  const formKey = formKeyOf(tools.secret);
  const { origin, hostname } = new URL(tools.publicUrl);
  const gate = createGate(GATE);
  const refuse = createRefusals(tools);
  const requestLimit = createRequestLimit(tools.rateLimiter);
  const cookieOptions = { path: tools.base, secure: origin.startsWith('https:') };

  async function receive(
    request: Request,
    peer: string | null,
    match: Match | null,
    trace: Visit['trace'],
  ): Promise<Response> {
    const headers = request.headers;
    const asked = languageOf(new URLSearchParams(searchOf(request.url)).get('lang'));
    const chosen = asked ?? chosenLanguage(headers.get('cookie'));
    const language = chosen ?? preferredLanguage(headers.get('accept-language'));
    const asker = {
      cookie: headers.get('cookie'),
      ...clientAddress(peer, headers.get('x-forwarded-for')),
      // Mail is written in this language, too.
      acceptLanguage: chosen ?? headers.get('accept-language'),
      userAgent: headers.get('user-agent')?.slice(0, MAX_USER_AGENT) ?? null,
    };
    if (requestLimit.isPaused(asker)) return refuse('too many requests', language, trace.requestId);

    // At the service's own origin: the caller's Host can be anything.
    const url = new URL(origin + pathOf(request.url) + searchOf(request.url));
    const elsewhere = otherLoopbackName(request, url);
    if (elsewhere !== null) return Response.redirect(elsewhere, 302);

    const visit: Visit = {
      request,
      url,
      params: match?.params ?? {},
      fields: () => '',
      leave: () => {},
      asker,
      session: null,
      formToken: '',
      texts: TEXTS[language],
      formats: formatsOf(language),
      tools,
      trace,
    };
    const cookies: string[] = asked === null ? [] : [languageCookie(asked, cookieOptions)];
    const reply = await answer(visit, match, cookies).catch((error: unknown) => failed(visit, error));
    if (typeof reply === 'string') return refuse(reply, language, trace.requestId);
    return respond(reply, {
      acceptEncoding: headers.get('accept-encoding') ?? '',
      cookies,
      requestId: trace.requestId,
      language: visit.texts.lang,
      hasLinkToken: url.searchParams.has('token'),
    });
  }

  async function answer(visit: Visit, match: Match | null, cookies: string[]): Promise<Reply | RefusalKind> {
    // Outside the gate: a slow sender would keep a place.
    const form = match?.route?.method === 'POST' ? await readForm(visit.request, tools.stopping) : null;
    if (typeof form === 'string') return unreadPage(visit, form);
    const name = nameOf(visit.asker);
    if (gate.isFullFor(name)) return 'busy';
    return gate.run(name, (leave) => {
      visit.leave = leave;
      return admit(visit, match, form, cookies);
    });
  }

  async function admit(
    visit: Visit,
    match: Match | null,
    form: URLSearchParams | null,
    cookies: string[],
  ): Promise<Reply | RefusalKind> {
    const { request, texts, asker } = visit;
    const known = await withTimeout(tools.auth.session(asker.cookie), SESSION_TIMEOUT_MS, 'Postgres');
    cookies.push(...known.cookies);
    visit.session = known.session;
    if (!(await requestLimit.take(asker, visit.session?.user.id ?? null))) return 'too many requests';

    const owner = formOwner(visit.session?.id ?? null, asker.cookie, cookieOptions);
    if (owner.setCookie !== null) cookies.push(owner.setCookie);
    visit.formToken = formToken(formKey, owner);

    if (match === null) return messagePage(visit, 404, texts.notFound, texts.notFoundLead);
    if (match.route === null) {
      const allow = match.allowed.join(', ').replace('GET', 'GET, HEAD');
      return messagePage(visit, 405, texts.notFound, texts.notFoundLead, { Allow: allow });
    }

    const { session } = visit;
    const path = pathBelow(visit.url);
    if (session === null && match.route.for === 'member') {
      const isPost = match.route.method === 'POST';
      // The page that a form is on has mostly the form's own address.
      const hasPage = matchRoute('GET', path)?.route != null;
      const formPage = hasPage ? pageWithText(path, form) : '';
      const back = isPost ? formPage : path + visit.url.search;
      const signIn = signInAddress(tools.base, back);
      if (isPost) return signedOutPage(visit, signIn);
      return { redirect: signIn };
    }
    if (match.route.method === 'POST') {
      if (session === null && match.route.path === '/sign-out') return redirectTo(visit, '/sign-in?done=out');
      // Another tab has signed in, or the same form was sent a moment ago: there is nothing left to do.
      if (session !== null && ENTRIES.includes(match.route.path)) return redirectTo(visit, '');
      const from = request.headers.get('origin');
      if (from !== null && from !== origin) {
        return messagePage(visit, 403, texts.formExpired, texts.wrongAddress(`${tools.publicUrl}/dashboard`));
      }
      if (form === null || !isFormToken(formKey, owner, form.get(TOKEN_FIELD) ?? '')) {
        return messagePage(visit, 403, texts.formExpired, texts.formExpiredLead);
      }
      visit.fields = fieldsOf(form);
    }

    if (match.route.for === 'anyone')
      return withTimeout(match.route.page(visit), PAGE_TIMEOUT_MS, 'the page');
    if (session === null) return { redirect: `${tools.base}/sign-in` };
    const accountId = await withTimeout(
      accountOf(tools.sql, session.user, texts.language),
      SESSION_TIMEOUT_MS,
      'Postgres',
    );
    visit.trace.account = accountId;
    const account = await tools.readAccount(accountId);
    const member: MemberVisit = { ...visit, session, user: session.user, account };
    if (match.route.path === '/try') {
      // A call has the API's own limits; a slow source must not keep pages from being shown.
      visit.leave();
      return match.route.page(member);
    }
    return withTimeout(match.route.page(member), PAGE_TIMEOUT_MS, 'the page');
  }

  function failed(visit: Visit, error: unknown): Reply | RefusalKind {
    const { texts, trace } = visit;
    if (error instanceof OverloadedError) return 'busy';
    if ((error as { code?: unknown }).code === LOCK_NOT_AVAILABLE) return 'busy';
    tools.log.error({ err: error, requestId: trace.requestId }, 'a page of the dashboard failed');
    return messagePage(visit, 503, texts.failed, texts.failedLead, { 'Retry-After': '5' });
  }

  /**
   * A browser on this machine that says `localhost` for the `127.0.0.1` of the public address, or the other way round: its
   * forms would be refused as another site's.
   */
  function otherLoopbackName(request: Request, url: URL): string | null {
    const asked = (request.headers.get('host') ?? '').replace(/:\d*$/, '').toLowerCase();
    if (request.method !== 'GET' || asked === hostname) return null;
    if (!isLoopbackHost(hostname) || !isLoopbackHost(asked)) return null;
    return url.href;
  }

  return { receive };
}

/** The page of a member's form that came without a session. */
function signedOutPage(visit: Visit, signIn: string): Reply {
  const { texts } = visit;
  const body = html`<p><a class="button wide" href="${signIn}">${texts.signIn}</a></p>`;
  return cardPage(visit, { title: texts.signedOut, lead: texts.signedOutLead, status: 403, body });
}

/** The page of a form that was not read. Nobody sees that of a sender who is gone: it is for the log and the metrics. */
function unreadPage(visit: Visit, unread: Unread): Reply {
  const { texts } = visit;
  // What is left of the body is not read, so the connection can't be used again.
  const closing = { Connection: 'close' };
  switch (unread) {
    case 'not a form':
      return messagePage(visit, 403, texts.formExpired, texts.formExpiredLead);
    case 'too large':
      return messagePage(visit, 413, texts.failed, texts.formTooLarge, closing);
    case 'too slow':
      return messagePage(visit, 408, texts.failed, texts.formTooSlow, closing);
    case 'gone':
      return messagePage(visit, CLIENT_CLOSED, texts.failed, texts.formTooSlow, closing);
    case 'stopping':
      return messagePage(visit, 503, texts.failed, texts.failedLead, { ...closing, 'Retry-After': '5' });
  }
}
