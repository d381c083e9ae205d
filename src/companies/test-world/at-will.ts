import { type ProblemAnswer, problem, unavailable } from '../../http/answer.ts';
import { type ApiRoute, problemsOf, UNPAID } from '../../http/api-route.ts';
import type { Input } from '../../http/input.ts';
import type { ProblemName } from '../../http/problems.ts';
import { buyAddress } from '../../metering/accounts/buy-address.ts';
import { type CallContext, type Handler, NOTHING_PAID, type Quote } from '../../metering/admission/quote.ts';
import { budgetExceeded, quotaExceeded, rateLimitExceeded } from '../../metering/admission/refusals.ts';
import type { Config } from '../../platform/config/config.ts';
import { HOUR, SECOND } from '../../platform/units.ts';
import { validNif } from '../nif-parameter.ts';
import { type AtWill, calledUpBy } from './world.ts';

/** How long a slow answer takes, and how long the bucket is empty that is called up. */
const WAIT_MS = 3 * SECOND;
/** An item can have it, so it is the answer to the whole request only from the first place of a list. */
const OF_ITEMS: (AtWill | undefined)[] = [...UNPAID, 'service-unavailable'];
const ENDS_CREDITS: (AtWill | undefined)[] = [...UNPAID];

/** A handler of test keys: a NIF or a word of the input calls up a problem that the route documents. */
export function withProblemsAtWill(route: ApiRoute, handler: Handler, buyUrl: Config['buyUrl']): Handler {
  const documented: (AtWill | undefined)[] = problemsOf(route);

  async function quote(input: Input, context: CallContext): Promise<Quote> {
    const { end, ...quoted } = await handler.quote(input, context);
    // A list that is slow at will keeps no other list waiting.
    end?.(NOTHING_PAID);
    const { nif = '', q = '' } = input;
    const kinds = (quoted.asked ?? [validNif(String(nif)) ?? String(q)]).map(calledUpBy);
    const isOfAll = (kind: AtWill | undefined, place: number) =>
      documented.includes(kind) && (place === 0 || !OF_ITEMS.includes(kind));
    const ofAll = kinds.find(isOfAll) as ProblemName | undefined;
    const unpaid = kinds.findIndex((kind) => ENDS_CREDITS.includes(kind));
    const answer: Quote['answer'] = async (payment) => {
      if (kinds.includes('slow-answer')) await Bun.sleep(WAIT_MS);
      if (ofAll !== undefined) return problemOf(ofAll, context);
      if (unpaid === -1) return quoted.answer(payment);
      const before = quoted.charged?.slice(0, unpaid).filter(Boolean).length ?? unpaid;
      const spent = Math.min(payment.spent, before);
      return quoted.answer({ ...payment, spent, refusal: problemOf(kinds[unpaid] as ProblemName, context) });
    };
    // Its wait says nothing about the directory's search.
    return { ...quoted, isSearch: false, answer };
  }

  function problemOf(kind: ProblemName, { caller, rate }: CallContext): ProblemAnswer {
    if (kind === 'rate-limit-exceeded')
      return rateLimitExceeded({ ...rate, remaining: 0, waitUs: WAIT_MS * 1000 });
    if (kind === 'service-unavailable') return unavailable('The service is unavailable at will.');
    const reset = { resetAt: new Date(Date.now() + HOUR).toISOString(), retryAfterS: HOUR / SECOND };
    if (kind === 'key-budget-exceeded') return budgetExceeded({ credits: 50, per: 'day', ...reset });
    if (kind !== 'monthly-quota-exceeded') return problem(kind);
    const buy = buyAddress(buyUrl, caller.accountId);
    return quotaExceeded({ limit: 500, ...reset }, buy, caller.only);
  }

  return { quote };
}
