import { SECOND } from '../../platform/units.ts';
import { html } from '../ui/html.ts';
import { filled } from '../ui/state-text.ts';
import type { PageResponse } from './context.ts';
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

/** Answers refused requests late. A page takes 10 µs to render. */
export function createRefusals() {
  let delayed = 0;

  return async (kind: RefusalKind, refused: Unanswered): Promise<Response> => {
    if (delayed < MAX_DELAYED) {
      delayed += 1;
      await Bun.sleep(DELAY_MS + Math.random() * SPREAD_MS);
      delayed -= 1;
    }
    return respond(refusalPage(refused, kind), { language: refused.messages.lang });
  };
}

function refusalPage(refused: Unanswered, kind: RefusalKind): PageResponse {
  const { busy, states, tooManyRequests, tooManyRequestsLead } = refused.messages;
  // The empty address is that of the page itself.
  const again = retry(refused) ?? html`<p><a class="button" href="">${refused.messages.retry}</a></p>`;
  if (kind === 'busy') {
    return messagePage(refused, 503, busy, filled(states.overloaded), { 'Retry-After': '1' }, again);
  }
  const pause = { 'Retry-After': String(PAUSE_MS / SECOND) };
  return messagePage(refused, 429, tooManyRequests, tooManyRequestsLead, pause, again);
}
