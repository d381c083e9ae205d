/**
 * /dashboard/connect/consent: the one page on which a member lets an agent use their account. Its client is read from its document now, because
 * the member is known. The browser leaves for the client's address by a press of the member alone.
 */
import { resourceOf, takesConnections } from '../../mcp/resource.ts';
import { clientHost, findRegistered } from '../../metering/connections/clients.ts';
import {
  type ConnectionRequest,
  dropRequest,
  findRequest,
  nameClient,
} from '../../metering/connections/requests.ts';
import {
  createConnection,
  MAX_CONNECTIONS,
  TooManyConnectionsError,
} from '../../metering/connections/store.ts';
import type { KeyLimits } from '../../metering/keys/limits.ts';
import { generateSecret, RANDOM_BYTES } from '../../metering/keys/secret.ts';
import { messageOf } from '../../platform/errors.ts';
import { changesOf, clientsOf, countAttempt } from '../auth/limits.ts';
import { MAILS } from '../auth/mail-text.ts';
import { findReader } from '../auth/reader.ts';
import { logOfMember } from '../auth/security-log.ts';
import { presentRefusal } from '../auth/sign-in.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { connectionFields, sentConnectionLimits } from '../keys/key-limits.ts';
import { bytesOfForm } from '../request/csrf.ts';
import { form, formHandlers, presentPassword, type Refusal, refuse, tooMany } from '../request/forms.ts';
import { awaitsConfirmation, cardPage, messagePage } from '../request/layout.ts';
import { POLICY_WITHOUT_FORM_ACTION } from '../request/respond.ts';
import { html } from '../ui/html.ts';
import { type Fact, facts } from '../ui/parts.ts';
import { browserOf } from './authorize.ts';
import { ClientError, createClientReader } from './client-document.ts';
import { answerAddress, isLocalRedirect, takesRedirect } from './redirects.ts';

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
  async show(context: MemberContext, refusal) {
    const request = await knownRequest(context);
    return 'page' in request ? request : consentPage(context, request, refusal);
  },
  async submit(context) {
    const request = await knownRequest(context);
    if ('page' in request) return request;
    if (context.sent('answer') === 'no') {
      await dropRequest(context.tools.sql, request.id);
      return sendBack(context, request, { error: 'access_denied' });
    }
    return connect(context, request);
  },
});

/** The sent request, once its client is known and takes codes at its address; otherwise a page that says why not. */
async function knownRequest(
  context: MemberContext,
): Promise<Known | Extract<PageResponse, { page: unknown }>> {
  const { tools, messages, url, user, request } = context;
  const id = url.searchParams.get('request') ?? '';
  const found = takesConnections(tools.publicUrl)
    ? await findRequest(tools.sql, id, browserOf(context))
    : null;
  // Only a page whose client is known has a form, so a form in the place of passwords never waits for a document.
  if (found === null || (found.clientName === null && request.method === 'POST'))
    return page(messagePage(context, 404, messages.connectEnded, messages.connectEndedLead));
  let { clientName } = found;
  if (clientName === null) {
    const refusal = tooMany(context, await countAttempt(tools.sql, clientsOf(user)));
    if (refusal !== null)
      return page(messagePage(context, 429, messages.tooManyRequests, refusal.message, refusal.headers));
    clientName = await readClientName(context, found);
    if (clientName === null)
      return page(messagePage(context, 400, messages.clientRefused, messages.clientRefusedLead));
    await nameClient(tools.sql, id, clientName);
  }
  const known = { ...found, id, clientName };
  const error = errorOf(known, tools.publicUrl);
  return error === null ? known : page(errorPage(context, known, error));
}

// A handler's answers are pages or redirects, and these are pages.
const page = (response: PageResponse) => response as Extract<PageResponse, { page: unknown }>;

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
  if (awaitsConfirmation(context)) return refuse(403, { message: messages.confirmFirst });
  if (account.suspended) return refuse(403, { message: messages.suspendedRefusal });
  const limits = sentConnectionLimits(context);
  if ('refused' in limits) return limits;
  const wrong = await presentRefusal(context);
  if (wrong !== null) return wrong;
  const often = tooMany(context, await countAttempt(tools.sql, changesOf(user, 'connection-created')));
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
