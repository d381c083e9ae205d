import { type ProblemAnswer, problem } from '../../http/answer.ts';
import { type ApiRoute, problemsOf } from '../../http/api-route.ts';
import type { ProblemName } from '../../http/problems.ts';
import { pathOf } from '../../http/url.ts';
import { buyAddress } from '../../metering/accounts/buy-address.ts';
import type { AdmissionContext, Handler, Payment, Plan } from '../../metering/admission/plan.ts';
import { quotaExceeded, rateLimitExceeded, rateLimitHeaders } from '../../metering/admission/refusals.ts';
import type { Config } from '../../platform/config/config.ts';
import { parseUntrusted } from '../../platform/runtime/json.ts';
import { HOUR, SECOND } from '../../platform/units.ts';
import { qOf } from '../search/route.ts';
import { type AtWill, calledUpBy } from './world.ts';

/** How long a slow answer takes, and how long the bucket is empty that is called up. */
const WAIT_MS = 3 * SECOND;
/** Answered by the stores in memory (stores.ts). */
const OF_STORES: AtWill[] = ['company-not-found', 'company-lookup-failed', 'search-failed'];
/** An item can have it, so it ends the whole request only from the first place of a list. */
const OF_ITEMS: AtWill[] = ['monthly-quota-exceeded', 'service-unavailable'];

/** A handler whose problems can be called up by a NIF or a word of the request. */
export function withProblemsAtWill(
  route: ApiRoute,
  handler: Handler,
  { buyUrl }: Pick<Config, 'buyUrl'>,
): Handler {
  const documented: (AtWill | null)[] = problemsOf(route).filter((kind) => !OF_STORES.includes(kind));
  return {
    charge: handler.charge,
    async plan(context) {
      const planned = await handler.plan(context);
      const kinds = textsOf(route, context.request.url, planned.sent).map(calledUpBy);
      const isOfAll = (kind: AtWill | null, place: number) =>
        documented.includes(kind) && (place === 0 || !OF_ITEMS.includes(kind!));
      const ofAll = kinds.find(isOfAll) as ProblemName | undefined;
      const answer: Plan['answer'] = async (payment) => {
        if (kinds.includes('slow-answer')) await Bun.sleep(WAIT_MS);
        if (ofAll !== undefined) return problemOf(ofAll, context);
        const paid = kinds.indexOf('monthly-quota-exceeded');
        return planned.answer(paid > 0 ? cutShort(payment, paid, context) : payment);
      };
      // Its wait says nothing about the directory's search.
      return { ...planned, isSearch: false, answer };
    },
  };

  /** The credits suffice for the first items only. */
  function cutShort(payment: Payment, paid: number, context: AdmissionContext): Payment {
    const refusal = problemOf('monthly-quota-exceeded', context);
    return { ...payment, spent: Math.min(payment.spent, paid), refusal };
  }

  function problemOf(kind: ProblemName, { caller, rate }: AdmissionContext): ProblemAnswer {
    if (kind === 'monthly-quota-exceeded') {
      const resetAt = new Date(Date.now() + HOUR).toISOString();
      const quota = { limit: 500, resetAt, retryAfterS: HOUR / SECOND };
      return quotaExceeded(quota, buyAddress(buyUrl, caller.accountId));
    }
    if (kind === 'rate-limit-exceeded') {
      const empty = { ...rate, admitted: false, remaining: 0, waitUs: WAIT_MS * 1000 };
      const refusal = rateLimitExceeded(empty);
      refusal.problem.headers = { ...rateLimitHeaders(empty), ...refusal.problem.headers };
      return refusal;
    }
    const headers = kind === 'service-unavailable' ? { 'Retry-After': String(WAIT_MS / SECOND) } : {};
    return problem(kind, undefined, { headers });
  }
}

/** The NIFs and the queries of a request, in their order. An endpoint without input has a `q`, too. */
function textsOf(route: ApiRoute, url: string, sent: Plan['sent']): string[] {
  try {
    if (route.params !== undefined) return [decodeURIComponent(pathOf(url).split('/').at(-1)!)];
    if (sent === undefined) return [qOf(url) ?? ''];
    const { nifs, queries } = parseUntrusted(sent as Buffer) as Record<string, unknown>;
    return [nifs ?? queries ?? []].flat().map(String);
  } catch {
    // The handler has its own answer to what can't be read.
    return [];
  }
}
