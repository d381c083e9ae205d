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
import { MESSAGES } from '../ui/messages.ts';
import type { ReadClientAddress } from './client-address.ts';
import { formKeyOf, formOwner, formToken, isFormToken, TOKEN_FIELD } from './csrf.ts';
import { fieldsOf } from './fields.ts';
import { readForm, type Unread } from './form.ts';
import { createGate } from './gate.ts';
import {
  type MemberContext,
  type PageContext,
  type PageResponse,
  redirectTo,
  type Tools,
} from './page-context.ts';
import { createRefusals, type RefusalKind } from './refusals.ts';
import { createRequestLimit, nameOf } from './request-limit.ts';
import { respond } from './respond.ts';
import { pageWithText, pathBelow, signInAddress } from './return-path.ts';

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

interface RequestHandlerParts {
  clientAddress: ReadClientAddress;
  tools: Tools;
}

export interface RequestHandler {
  handle(
    request: Request,
    peer: string | null,
    match: Match | null,
    trace: PageContext['trace'],
  ): Promise<Response>;
}

/**
 * What every request passes before its page: is there room for it, who is it, does the form come from a page of ours, and may
 * they see what they ask for. In this order, in one place.
 */
export function createRequestHandler({ clientAddress, tools }: RequestHandlerParts): RequestHandler {
  const formKey = formKeyOf(tools.secret);
  const { origin, hostname } = new URL(tools.publicUrl);
  const gate = createGate(GATE);
  const refuse = createRefusals(tools);
  const requestLimit = createRequestLimit(tools.rateLimiter);
  const cookieOptions = { path: tools.base, secure: origin.startsWith('https:') };

  async function handle(
    request: Request,
    peer: string | null,
    match: Match | null,
    trace: PageContext['trace'],
  ): Promise<Response> {
    const headers = request.headers;
    const asked = languageOf(new URLSearchParams(searchOf(request.url)).get('lang'));
    const chosen = asked ?? chosenLanguage(headers.get('cookie'));
    const language = chosen ?? preferredLanguage(headers.get('accept-language'));
    const client = {
      cookie: headers.get('cookie'),
      ...clientAddress(peer, headers.get('x-forwarded-for')),
      // Mail is written in this language, too.
      acceptLanguage: chosen ?? headers.get('accept-language'),
      userAgent: headers.get('user-agent')?.slice(0, MAX_USER_AGENT) ?? null,
    };
    if (requestLimit.isPaused(client)) return refuse('too many requests', language, trace.requestId);

    // At the service's own origin: the caller's Host can be anything.
    const url = new URL(origin + pathOf(request.url) + searchOf(request.url));
    const elsewhere = otherLoopbackName(request, url);
    if (elsewhere !== null) return Response.redirect(elsewhere, 302);

    const context: PageContext = {
      request,
      url,
      params: match?.params ?? {},
      fields: () => '',
      leave: () => {},
      client,
      session: null,
      formToken: '',
      messages: MESSAGES[language],
      formats: formatsOf(language),
      tools,
      trace,
    };
    const cookies: string[] = asked === null ? [] : [languageCookie(asked, cookieOptions)];
    const response = await answer(context, match, cookies).catch((error: unknown) => failed(context, error));
    if (typeof response === 'string') return refuse(response, language, trace.requestId);
    return respond(response, {
      acceptEncoding: headers.get('accept-encoding') ?? '',
      cookies,
      requestId: trace.requestId,
      language: context.messages.lang,
      hasLinkToken: url.searchParams.has('token'),
    });
  }

  async function answer(
    context: PageContext,
    match: Match | null,
    cookies: string[],
  ): Promise<PageResponse | RefusalKind> {
    // Outside the gate: a slow sender would keep a place.
    const form = match?.route?.method === 'POST' ? await readForm(context.request, tools.stopping) : null;
    if (typeof form === 'string') return unreadPage(context, form);
    const name = nameOf(context.client);
    if (gate.isFullFor(name)) return 'busy';
    return gate.run(name, (leave) => {
      context.leave = leave;
      return admit(context, match, form, cookies);
    });
  }

  async function admit(
    context: PageContext,
    match: Match | null,
    form: URLSearchParams | null,
    cookies: string[],
  ): Promise<PageResponse | RefusalKind> {
    const { request, messages, client } = context;
    const known = await withTimeout(tools.auth.session(client.cookie), SESSION_TIMEOUT_MS, 'Postgres');
    cookies.push(...known.cookies);
    context.session = known.session;
    if (!(await requestLimit.take(client, context.session?.user.id ?? null))) return 'too many requests';

    const owner = formOwner(context.session?.id ?? null, client.cookie, cookieOptions);
    if (owner.setCookie !== null) cookies.push(owner.setCookie);
    context.formToken = formToken(formKey, owner);

    if (match === null) return messagePage(context, 404, messages.notFound, messages.notFoundLead);
    if (match.route === null) {
      const allow = match.allowed.join(', ').replace('GET', 'GET, HEAD');
      return messagePage(context, 405, messages.notFound, messages.notFoundLead, { Allow: allow });
    }

    const { session } = context;
    const path = pathBelow(context.url);
    if (session === null && match.route.for === 'member') {
      const isPost = match.route.method === 'POST';
      // The page that a form is on has mostly the form's own address.
      const hasPage = matchRoute('GET', path)?.route != null;
      const formPage = hasPage ? pageWithText(path, form) : '';
      const back = isPost ? formPage : path + context.url.search;
      const signIn = signInAddress(tools.base, back);
      if (isPost) return signedOutPage(context, signIn);
      return { redirect: signIn };
    }
    if (match.route.method === 'POST') {
      if (session === null && match.route.path === '/sign-out')
        return redirectTo(context, '/sign-in?done=out');
      // Another tab has signed in, or the same form was sent a moment ago: there is nothing left to do.
      if (session !== null && ENTRIES.includes(match.route.path)) return redirectTo(context, '');
      const from = request.headers.get('origin');
      if (from !== null && from !== origin) {
        return messagePage(
          context,
          403,
          messages.formExpired,
          messages.wrongAddress(`${tools.publicUrl}/dashboard`),
        );
      }
      if (form === null || !isFormToken(formKey, owner, form.get(TOKEN_FIELD) ?? '')) {
        return messagePage(context, 403, messages.formExpired, messages.formExpiredLead);
      }
      context.fields = fieldsOf(form);
    }

    if (match.route.for === 'anyone')
      return withTimeout(match.route.page(context), PAGE_TIMEOUT_MS, 'the page');
    if (session === null) return { redirect: `${tools.base}/sign-in` };
    const accountId = await withTimeout(
      accountOf(tools.sql, session.user, messages.language),
      SESSION_TIMEOUT_MS,
      'Postgres',
    );
    context.trace.account = accountId;
    const account = await tools.readAccount(accountId);
    const member: MemberContext = { ...context, session, user: session.user, account };
    if (match.route.path === '/try') {
      // A call has the API's own limits; a slow source must not keep pages from being shown.
      context.leave();
      return match.route.page(member);
    }
    return withTimeout(match.route.page(member), PAGE_TIMEOUT_MS, 'the page');
  }

  function failed(context: PageContext, error: unknown): PageResponse | RefusalKind {
    const { messages, trace } = context;
    if (error instanceof OverloadedError) return 'busy';
    if ((error as { code?: unknown }).code === LOCK_NOT_AVAILABLE) return 'busy';
    tools.log.error({ err: error, requestId: trace.requestId }, 'a page of the dashboard failed');
    return messagePage(context, 503, messages.failed, messages.failedLead, { 'Retry-After': '5' });
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

  return { handle };
}

/** The page of a member's form that came without a session. */
function signedOutPage(context: PageContext, signIn: string): PageResponse {
  const { messages } = context;
  const body = html`<p><a class="button wide" href="${signIn}">${messages.signIn}</a></p>`;
  return cardPage(context, { title: messages.signedOut, lead: messages.signedOutLead, status: 403, body });
}

/** The page of a form that was not read. Nobody sees that of a sender who is gone: it is for the log and the metrics. */
function unreadPage(context: PageContext, unread: Unread): PageResponse {
  const { messages } = context;
  // What is left of the body is not read, so the connection can't be used again.
  const closing = { Connection: 'close' };
  switch (unread) {
    case 'not a form':
      return messagePage(context, 403, messages.formExpired, messages.formExpiredLead);
    case 'too large':
      return messagePage(context, 413, messages.failed, messages.formTooLarge, closing);
    case 'too slow':
      return messagePage(context, 408, messages.failed, messages.formTooSlow, closing);
    case 'gone':
      return messagePage(context, CLIENT_CLOSED, messages.failed, messages.formTooSlow, closing);
    case 'stopping':
      return messagePage(context, 503, messages.failed, messages.failedLead, {
        ...closing,
        'Retry-After': '5',
      });
  }
}
