/** The pages of requests that are not answered, because of their client, their form, or a fault. */
import { dropBody } from '../../http/body.ts';
import type { Trace } from '../../http/observe.ts';
import { KIB, SECOND } from '../../platform/units.ts';
import type { PageResponse, Visit } from '../context.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { filled } from '../ui/states.ts';
import { TOKEN_FIELD } from './csrf.ts';
import type { Refusal } from './forms.ts';
import { cardPage, messagePage } from './layout.ts';
import type { NoForm } from './read-form.ts';
import { hasLinkToken, respond } from './respond.ts';
import { filledIn, pathBelow } from './return-path.ts';

/** The reason why a request gets no page. */
export type RefusalKind = 'too many requests' | 'busy';

/**
 * A refusal is delayed this long, spread over a second. Bun reads all requests that have arrived before any answer of Postgres.
 * 600 connections that repeat a refused request at once would stop the API for seconds.
 */
const DELAY_MS = 0.5 * SECOND;
const SPREAD_MS = 1 * SECOND;
/** Further refusals are answered at once, because each one that waits holds memory. */
const MAX_DELAYED = 10_000;
/** Longer than the next token takes, so that refused requests cost few queries of sessions and buckets. */
export const PAUSE_MS = 5 * SECOND;

/** Answers refused requests late. A page takes 10 µs to render. */
export function createRefusals() {
  let delayed = 0;

  async function delay(request: Request): Promise<void> {
    await dropBody(request);
    if (delayed >= MAX_DELAYED) return;
    delayed += 1;
    await Bun.sleep(DELAY_MS + Math.random() * SPREAD_MS);
    delayed -= 1;
  }

  return {
    async refuse(kind: RefusalKind, refused: Visit): Promise<Response> {
      await delay(refused.request);
      return respond(refusalPage(refused, kind), {
        language: refused.messages.lang,
        hasLinkToken: hasLinkToken(refused.request),
      });
    },
    /** The answer to headers that are too long, without a page. */
    async refuseHeaders(request: Request): Promise<Response> {
      await delay(request);
      return new Response(null, { status: 431, headers: CLOSE });
    },
  };
}

function refusalPage(refused: Visit, kind: RefusalKind): PageResponse {
  const { busy, states, tooManyRequests, tooManyRequestsLead } = refused.messages;
  const again = retry(refused) ?? html`<p><a class="button" href="">${refused.messages.retry}</a></p>`;
  if (kind === 'busy') {
    return messagePage(refused, 503, busy, filled(states.overloaded), { 'Retry-After': '1' }, again);
  }
  const pause = { 'Retry-After': String(PAUSE_MS / SECOND) };
  return messagePage(refused, 429, tooManyRequests, tooManyRequestsLead, pause, again);
}

// The rest of the body is not read, so the connection can't be used again.
const CLOSE = { Connection: 'close' };
const RETRY = { 'Retry-After': '5' };

/** The page for a form that was not read. @param maxBytes that it could have */
export function unreadPage(refused: Visit, reason: NoForm, maxBytes: number): PageResponse {
  const { messages } = refused;
  const page = (status: number, lead: string, headers = {}) =>
    messagePage(refused, status, messages.failed, lead, { ...CLOSE, ...headers });
  if (reason === 'too large') return page(413, messages.formTooLarge(String(maxBytes / KIB)));
  if (reason === 'too many fields') return page(413, messages.formTooManyFields);
  if (reason === 'stopping') return page(503, messages.tryAgain, RETRY);
  // nginx's status, for the log and the metrics: the sender has left.
  return page(reason === 'gone' ? 499 : 408, messages.formTooSlow);
}

/** The page for a member's form that came without a session, with the list that it had. @param reason why the session has ended */
export function signedOutPage(refused: Visit, signIn: string, reason: HtmlValue): PageResponse {
  const { messages, form } = refused;
  const list = form?.get('list') ?? '';
  const body = html`${reason}${list !== '' && keptList(messages.keptList, list, true)}<p><a class="button" href="${signIn}">${messages.signIn}</a></p>`;
  return cardPage(refused, { title: messages.signedOut, lead: messages.signedOutLead, status: 403, body });
}

/** The page for a fault, nearly always that Postgres is away. */
export function faultPage(refused: Visit & { trace: Trace }): PageResponse {
  const { messages, trace } = refused;
  const { postgresAway } = messages.states;
  const hasCalled = trace.keyId !== undefined;
  const lead = filled(hasCalled ? { ...postgresAway, cost: messages.chargedPerhaps } : postgresAway);
  return messagePage(refused, 503, messages.failed, lead, RETRY, retry(refused));
}

/** The page of a visit or a download that comes too early. */
export const tooOftenPage = (refused: Visit, { message, headers }: Refusal): PageResponse =>
  messagePage(refused, 429, refused.messages.tooManyRequests, message, headers, retry(refused));

/**
 * The way to send a request again: its form with what was typed, or a link to its page. A form that was not read is sent again by a
 * reload. A form that is none of those that can be sent again has no way, as one with a password.
 *
 * @param token of the form; by default the one that it was sent with, which is checked as ever
 */
export function retry(
  { messages, tools, url, request, path, route, form }: Visit,
  token?: string,
): HtmlValue {
  if (request.method !== 'POST') {
    // The empty address is that of the page itself.
    const address = url === undefined ? '' : `${tools.base}${pathBelow(url)}${url.search}`;
    return html`<p><a class="button" href="${address}">${messages.retry}</a></p>`;
  }
  if (route.resends === undefined) return null;
  if (form === null) return html`<p>${messages.reloadToSend}</p>`;
  return html`
<form method="post" action="${tools.base}${path}" id="retry">
  <input type="hidden" name="${TOKEN_FIELD}" value="${token ?? form?.get(TOKEN_FIELD)}">
  ${filledIn(form, route.resends).map(([name, value]) => (name === 'list' ? keptList(messages.ownList, value) : html`<input type="hidden" name="${name}" value="${value}">`))}
  <div class="actions"><button type="submit">${messages.retry}</button></div>
</form>`;
}

/** A list that was sent. dashboard.js puts one with `isKept` into the field of its page after a sign-in in this tab. */
function keptList(label: string, list: string, isKept = false): HtmlValue {
  return html`
<div class="field">
  <label for="list">${label}</label>
  <textarea id="list" name="list" rows="6" spellcheck="false"${isKept && html` readonly data-keep`}>${list}</textarea>
</div>`;
}
