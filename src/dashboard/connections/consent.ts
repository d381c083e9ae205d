/**
 * /dashboard/connect/consent: the one page on which a member lets an agent use their account. Its client is read from its document now, because
 * the member is known. The browser leaves for the client's address by a press of the member alone.
 */

import { randomBytes } from 'node:crypto';
import { resourceOf, takesConnections } from '../../mcp/resource.ts';
import { clientHost, findRegistered } from '../../metering/connections/clients.ts';
import {
  createConnection,
  MAX_CONNECTIONS,
  TooManyConnectionsError,
} from '../../metering/connections/connection-store.ts';
import {
  type ConnectionRequest,
  dropRequest,
  findRequest,
  nameClient,
  REQUEST_S,
  storeRequest,
} from '../../metering/connections/requests.ts';
import type { KeyLimits } from '../../metering/keys/limits.ts';
import { generateSecret, RANDOM_BYTES } from '../../metering/keys/secret.ts';
import { messageOf } from '../../platform/errors.ts';
import { SECOND } from '../../platform/units.ts';
import { formHandlers } from '../auth/form-page.ts';
import { changesOf, clientsOf, connectsOf, limited } from '../auth/limits.ts';
import { findReader, MAILS } from '../auth/mail-text.ts';
import { logOfMember } from '../auth/members.ts';
import { presentRefusal } from '../auth/sign-in.ts';
import type { MemberContext, PageContext, PageResponse } from '../context.ts';
import { connectionFields, sentConnectionLimits } from '../keys/key-limits.ts';
import { cookieScopeOf, readCookie, writeCookie } from '../request/cookies.ts';
import { bytesOfForm } from '../request/csrf.ts';
import { form, presentPassword, type Refusal, redirectTo, refuse } from '../request/forms.ts';
import { cardPage, messagePage, notFoundPage } from '../request/layout.ts';
import { tooOftenPage } from '../request/refusals.ts';
import { POLICY_WITHOUT_FORM_ACTION } from '../request/respond.ts';
import { type Fact, facts, html } from '../ui/html.ts';
import {
  answerAddress,
  ClientError,
  createClientReader,
  isLocalRedirect,
  isRedirect,
  takesRedirect,
} from './client-document.ts';

const PATH = '/connect/consent';

/** The limits of a connection unless the member changes them. The account's activity has no tool. */
const LIMITS: KeyLimits = {
  budget: { credits: 100, per: 'day' },
  only: ['search', 'matches', 'resolve', 'lookup', 'debts', 'changes', 'usage', 'datasets'],
  requests_per_minute: null,
};

/** A request whose client is known. */
type Known = ConnectionRequest & { id: string; clientName: string };

export const consent = formHandlers({
  show: (context: MemberContext, refusal) =>
    withRequest(context, (request) => consentPage(context, request, refusal)),
  submit: (context) =>
    withRequest(context, async (request) => {
      if (context.sent('answer') !== 'no') return connect(context, request);
      await dropRequest(context.tools.sql, request.id);
      return sendBack(context, request, { error: 'access_denied' });
    }),
});

/** Goes on with the sent request, once its client is known and takes codes at its address; otherwise a page says why not. */
async function withRequest<T>(
  context: MemberContext,
  goOn: (request: Known) => T | Promise<T>,
): Promise<T | PageResponse> {
  const { tools, messages, url, user, request } = context;
  const id = url.searchParams.get('request') ?? '';
  const found = takesConnections(tools.publicUrl)
    ? await findRequest(tools.sql, id, browserOf(context))
    : null;
  // Only a page whose client is known has a form, so a form in the place of passwords never waits for a document.
  if (found === null || (found.clientName === null && request.method === 'POST'))
    return messagePage(context, 404, messages.connectEnded, messages.connectEndedLead);
  let { clientName } = found;
  if (clientName === null) {
    const refusal = await limited(context, [clientsOf(user)]);
    if (refusal !== null) return tooOftenPage(context, refusal);
    clientName = await readClientName(context, found);
    if (clientName === null)
      return messagePage(context, 400, messages.clientRefused, messages.clientRefusedLead);
    await nameClient(tools.sql, id, clientName);
  }
  const known = { ...found, id, clientName };
  const error = errorOf(known, tools.publicUrl);
  return error === null ? goOn(known) : errorPage(context, known, error);
}

/** The name of the request's client; `null` if there is no such client, or it takes no codes at the request's address. */
async function readClientName(
  { tools, trace, user, leave }: MemberContext,
  { clientId, redirectUri }: ConnectionRequest,
): Promise<string | null> {
  const { oauthRegistration, oauthClientHosts } = tools.config;
  try {
    const registered = oauthRegistration === 'on' ? await findRegistered(tools.sql, clientId) : null;
    // A slow host must not keep a place from other pages.
    if (registered === null) leave();
    const client = registered ?? (await createClientReader(oauthClientHosts)(clientId, user.id));
    if (takesRedirect(client.redirectUris, redirectUri)) return client.name;
    throw new ClientError('it takes no codes at the redirect_uri');
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    tools.log.info({ requestId: trace.requestId, reason: messageOf(error) }, 'a client was refused');
    return null;
  }
}

/** The fault of a request of a known client, as RFC 6749, 7636 and 8707 name it; `null` if it has none. */
function errorOf({ parameters }: Known, publicUrl: string): string | null {
  if (parameters.response_type !== 'code') return 'unsupported_response_type';
  const isChallenge = /^[\w-]{43}$/.test(parameters.code_challenge ?? '');
  if (!isChallenge || parameters.code_challenge_method !== 'S256') return 'invalid_request';
  return (parameters.resource ?? resourceOf(publicUrl)) === resourceOf(publicUrl) ? null : 'invalid_target';
}

/** The address of an answer. `iss` says which service it is of (RFC 9207). */
function answerTo(
  { tools }: MemberContext,
  { redirectUri, parameters }: Known,
  answer: Record<string, string>,
) {
  const { state } = parameters;
  return answerAddress(redirectUri, {
    ...answer,
    ...(state !== undefined && { state }),
    iss: tools.publicUrl,
  });
}

const sendBack = (context: MemberContext, request: Known, answer: Record<string, string>): PageResponse => ({
  redirect: answerTo(context, request, answer),
});

function errorPage(context: MemberContext, request: Known, error: string): PageResponse {
  const { messages } = context;
  const { host } = new URL(request.redirectUri);
  return cardPage(context, {
    title: messages.connectInvalid,
    lead: messages.connectError(error),
    status: 400,
    body: html`<p><a class="button" href="${answerTo(context, request, { error })}">${messages.connectBack(host)}</a></p>`,
  });
}

function consentPage(context: MemberContext, request: Known, refusal: Refusal | null): PageResponse {
  const { messages, account, user } = context;
  const { id, clientId, clientName, redirectUri } = request;
  const { host } = new URL(redirectUri);
  const proved = clientHost(clientId);
  const isUnknown = proved === null && messages.clientUnknownWarning;
  const warning = isLocalRedirect(redirectUri) ? messages.clientLocalWarning : isUnknown;
  const about: Fact[] = [
    [messages.client, html`<strong>${proved ?? messages.clientUnknown}</strong>`],
    [messages.clientCalls, clientName === '' ? '–' : clientName],
    [messages.clientSendsTo, html`<strong>${host}</strong>`],
    [messages.account, account.name],
    [messages.signedInAs, html`<span class="email">${user.email}</span>`],
  ];
  const path = `${PATH}?request=${id}`;
  const yes = form(context, {
    path,
    hidden: { answer: 'yes' },
    username: user.email,
    fields: [...connectionFields(context, LIMITS), presentPassword(messages)],
    focus: false,
    button: messages.connectAllow,
    refusal,
  });
  const no = form(context, { path, hidden: { answer: 'no' }, button: messages.connectDeny, look: 'quiet' });
  const response = cardPage(context, {
    title: messages.connectTitle,
    lead: messages.connectLead,
    body: html`
${facts(about, 'stacked-facts')}
${warning && html`<p class="notice warn">${warning}</p>`}
${yes}
${no}`,
    ...refusal,
  });
  // Chrome holds a redirect after a form to the page's form-action, and the client's own redirects behind it, too.
  return {
    ...response,
    headers: { ...response.headers, 'Content-Security-Policy': POLICY_WITHOUT_FORM_ACTION },
  };
}

async function connect(context: MemberContext, request: Known): Promise<PageResponse | Refusal> {
  const { tools, messages, account, user } = context;
  const { id, clientId, clientName, redirectUri, parameters } = request;
  if (account.suspended) return refuse(403, { message: messages.suspendedRefusal });
  const limits = sentConnectionLimits(context);
  if ('refused' in limits) return limits;
  const wrong = await presentRefusal(context);
  if (wrong !== null) return wrong;
  const often = await limited(context, [changesOf(user, 'connection-created')]);
  if (often !== null) return often;
  const host = clientHost(clientId);
  // The same for each sending of this request's consent, so that a press that is sent twice connects once.
  const code = generateSecret(bytesOfForm(tools.secret, id, 'connect', RANDOM_BYTES));
  try {
    const made = await createConnection(tools.sql, {
      accountId: account.id,
      memberId: user.id,
      clientId,
      clientName,
      // Otherwise one that calls itself `claude.ai` would look like the proved one in lists.
      name: host ?? [messages.clientUnknown, clientName].filter(Boolean).join(': '),
      redirectUri,
      challenge: parameters.code_challenge!,
      code,
      limits,
    });
    if (made === null) return messagePage(context, 409, messages.connectEnded, messages.connectEndedLead);
    if (made.isNew) {
      logOfMember(context, 'agent connected');
      const mail = MAILS.connected({
        client: host ?? messages.clientUnknown,
        url: `${tools.publicUrl}/dashboard/keys/${made.id}`,
      });
      void tools.mailer?.send(mail, findReader(tools.sql, user.email, messages.language));
    }
  } catch (error) {
    if (!(error instanceof TooManyConnectionsError)) throw error;
    return refuse(409, { message: messages.tooManyConnections(String(MAX_CONNECTIONS)) });
  }
  return sendBack(context, request, { code });
}

/** The cookie of the browser that has begun a request, so that no other browser can consent to it. */
const COOKIE = 'dashboard.connect';
const BROWSER = /^[\w-]{22}$/;

/** The parameters that are kept. */
const KEPT = ['response_type', 'code_challenge', 'code_challenge_method', 'state', 'resource'];
const MAX_CLIENT_ID = 300;
const MAX_PARAMETERS = 4000;

/** The browser of a request; '' if it has begun none. */
function browserOf({ request }: PageContext): string {
  const cookie = readCookie(request.headers.get('cookie'), COOKIE);
  return BROWSER.test(cookie) ? cookie : '';
}

/**
 * GET /dashboard/connect, the authorization endpoint: keeps the request of a client, and leads to the sign-in.
 *
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
  const refusal = await limited(context, connectsOf(client));
  if (refusal !== null) return tooOftenPage(context, refusal);
  const parameters = Object.fromEntries(
    KEPT.flatMap((name) => (sent.has(name) ? [[name, sent.get(name)!]] : [])),
  );
  const browser = browserOf(context) || randomBytes(16).toString('base64url');
  const id = await storeRequest(tools.sql, browser, { clientId, redirectUri, parameters });
  const cookie = writeCookie(COOKIE, browser, cookieScopeOf(tools), REQUEST_S * SECOND);
  return redirectTo(context, `/connect/consent?request=${id}`, [cookie]);
}
