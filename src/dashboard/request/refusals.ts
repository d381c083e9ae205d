import { SECOND } from '../../units.ts';
import type { Language } from '../ui/language.ts';
import { messagePage } from '../ui/layout.ts';
import { MESSAGES } from '../ui/messages.ts';
import type { PageResponse, Tools } from './page-context.ts';
import { respond } from './respond.ts';

/** Why a request gets no page. */
export type RefusalKind = 'too many requests' | 'busy';

/**
 * A refusal is answered this late, spread over a second. Bun reads all that has arrived before it goes on with anything else:
 * 600 connections that ask again as soon as they are refused would keep the API from reading Postgres's answers for seconds.
 */
const DELAY_MS = 0.5 * SECOND;
const SPREAD_MS = 1 * SECOND;
/** More are answered at once: each holds memory as long as it waits. */
const MAX_DELAYED = 10_000;
/** Longer than the next token takes, so that refused requests cost few looks at sessions and buckets. */
export const PAUSE_MS = 5 * SECOND;

export type Refuse = (kind: RefusalKind, language: Language, requestId: string) => Promise<Response>;

/** Answers requests that are refused: late, and with pages that are rendered once. */
export function createRefusals(tools: Tools): Refuse {
  const pages = new Map<string, PageResponse>();
  let delayed = 0;

  function pageOf(kind: RefusalKind, language: Language): PageResponse {
    const messages = MESSAGES[language];
    const context = { messages, tools };
    return kind === 'busy'
      ? messagePage(context, 503, messages.busy, messages.busyLead, { 'Retry-After': '1' })
      : messagePage(context, 429, messages.tooManyRequests, messages.tooManyRequestsLead, {
          'Retry-After': String(PAUSE_MS / SECOND),
        });
  }

  return async (kind, language, requestId) => {
    const name = `${kind} ${language}`;
    const page = pages.get(name) ?? pageOf(kind, language);
    pages.set(name, page);
    if (delayed < MAX_DELAYED) {
      delayed += 1;
      await Bun.sleep(DELAY_MS + Math.random() * SPREAD_MS);
      delayed -= 1;
    }
    return respond(page, {
      acceptEncoding: '',
      cookies: [],
      requestId,
      language: MESSAGES[language].lang,
      hasLinkToken: false,
    });
  };
}
