import { SECOND } from '../../platform/units.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import type { Language } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';
import { filled } from '../ui/state-text.ts';
import type { LayoutContext, LayoutTools, PageResponse } from './context.ts';
import { messagePage } from './layout.ts';
import { respond } from './respond.ts';
import { retry, type Unanswered } from './retry.ts';

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

/** Answers refused requests late. Only a form that can be sent again is in its page: the other pages are rendered once. */
export function createRefusals(tools: LayoutTools) {
  const pages = { en: pagesOf(tools, 'en'), pt: pagesOf(tools, 'pt') };
  let delayed = 0;

  return async (kind: RefusalKind, refused: Unanswered): Promise<Response> => {
    if (delayed < MAX_DELAYED) {
      delayed += 1;
      await Bun.sleep(DELAY_MS + Math.random() * SPREAD_MS);
      delayed -= 1;
    }
    const { language, lang } = refused.messages;
    const again = refused.form && retry(refused);
    return respond(again ? refusalPage(refused, kind, again) : pages[language][kind], { language: lang });
  };
}

const pagesOf = (tools: LayoutTools, language: Language): Record<RefusalKind, PageResponse> => {
  const context = { messages: MESSAGES[language], tools };
  // The empty address is that of the page itself.
  const again = html`<p><a class="button" href="">${context.messages.retry}</a></p>`;
  return {
    busy: refusalPage(context, 'busy', again),
    'too many requests': refusalPage(context, 'too many requests', again),
  };
};

function refusalPage(context: LayoutContext, kind: RefusalKind, again: HtmlValue): PageResponse {
  const { busy, states, tooManyRequests, tooManyRequestsLead } = context.messages;
  if (kind === 'busy') {
    return messagePage(context, 503, busy, filled(states.overloaded), { 'Retry-After': '1' }, again);
  }
  const pause = { 'Retry-After': String(PAUSE_MS / SECOND) };
  return messagePage(context, 429, tooManyRequests, tooManyRequestsLead, pause, again);
}
