import { SECOND } from '../../platform/units.ts';
import type { Language } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';
import type { LayoutTools, PageResponse } from './context.ts';
import { messagePage } from './layout.ts';
import { respond } from './respond.ts';

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

/** Answers refused requests late, with pages that are rendered once. */
export function createRefusals(tools: LayoutTools) {
  const pages = { en: pagesOf(tools, 'en'), pt: pagesOf(tools, 'pt') };
  let delayed = 0;

  return async (kind: RefusalKind, language: Language): Promise<Response> => {
    if (delayed < MAX_DELAYED) {
      delayed += 1;
      await Bun.sleep(DELAY_MS + Math.random() * SPREAD_MS);
      delayed -= 1;
    }
    return respond(pages[language][kind], { language: MESSAGES[language].lang });
  };
}

function pagesOf(tools: LayoutTools, language: Language): Record<RefusalKind, PageResponse> {
  const messages = MESSAGES[language];
  const context = { messages, tools };
  const { busy, tryAgain, tooManyRequests, tooManyRequestsLead } = messages;
  const pause = { 'Retry-After': String(PAUSE_MS / SECOND) };
  return {
    busy: messagePage(context, 503, busy, tryAgain, { 'Retry-After': '1' }),
    'too many requests': messagePage(context, 429, tooManyRequests, tooManyRequestsLead, pause),
  };
}
