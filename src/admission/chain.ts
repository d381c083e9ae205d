import type { Credits } from '../credits/admit.ts';
import type { CallKind } from '../credits/spend.ts';
import { type Answer, failure } from '../http/answer.ts';
import type { Log } from '../http/log.ts';
import { rateLimitHeaders, retryAfterS } from '../http/rate-limit-headers.ts';
import type { Authenticator, Caller } from '../keys/authenticate.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import { SECOND } from '../units.ts';
import { createLoad } from './load.ts';

/** What would wait longer than this is refused at once, before it costs anything (issue: under too much load). */
const MAX_EXPECTED_WAIT_MS = 0.5 * SECOND;

/** What a handler knows of an admitted request. */
export interface Admitted {
  request: Request;
  caller: Caller;
  /** The bucket after this request took its token. */
  rate: RateDecision;
  /** The search index that was current when the credit was spent; null: none, or no credit was. */
  directoryIndex: string | null;
}

/** Answers one admitted request. What it throws is an `internal-error`. */
export type Handler = (admitted: Admitted) => Promise<Answer>;

/** Told as soon as it is known, so that the log line of a request that fails later still has it. */
export interface Trace {
  account?: string;
}

/**
 * The chain that every request of the API passes, in the specification's order: authentication, bucket, credit,
 * handler. The handler validates its own input: a bad request has spent its token and its credit by then.
 */
export interface Chain {
  /** @param charge what the credit is spent on; null: the call costs none */
  answer(request: Request, trace: Trace, charge: CallKind | null, handler: Handler): Promise<Answer>;
  /** The same for a caller who has been authenticated in another way: the dashboard's. */
  answerAs(
    caller: Caller,
    request: Request,
    trace: Trace,
    charge: CallKind | null,
    handler: Handler,
  ): Promise<Answer>;
}

/** The outcome of an admission. */
interface Ticket {
  rate: RateDecision;
  refusal: Answer | null;
  directoryIndex: string | null;
}

export interface ChainParts {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  credits: Credits;
  log: Log;
}

export function createChain({ authenticator, rateLimiter, credits, log }: ChainParts): Chain {
  // Two queues that can grow: for the admission, and for the directory's search. Lookups that wait for a source wait for
  // nothing of ours, and say nothing of how busy the service is.
  const admissions = createLoad();
  const searches = createLoad();

  function isOverloaded(charge: CallKind | null): boolean {
    const waitMs = admissions.expectedWaitMs() + (charge === 'search' ? searches.expectedWaitMs() : 0);
    return waitMs > MAX_EXPECTED_WAIT_MS;
  }

  async function answer(
    request: Request,
    trace: Trace,
    charge: CallKind | null,
    handler: Handler,
  ): Promise<Answer> {
    if (isOverloaded(charge)) return unavailable('The service is overloaded.');
    let caller: Caller | null;
    try {
      caller = await authenticator.authenticate(request.headers.get('authorization'));
    } catch (error) {
      log.warn({ err: error }, 'a key could not be looked up');
      return failure('authentication-failed');
    }
    if (caller === null)
      return failure('unauthorized', undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
    return answerAs(caller, request, trace, charge, handler);
  }

  async function answerAs(
    caller: Caller,
    request: Request,
    trace: Trace,
    charge: CallKind | null,
    handler: Handler,
  ): Promise<Answer> {
    trace.account = caller.accountId;

    const { rate, refusal, directoryIndex } = await admissions.track(() => admit(caller, charge));
    const headers = rateLimitHeaders(rate);
    if (refusal !== null) return withHeaders(refusal, headers);

    const handle = () => handler({ request, caller, rate, directoryIndex });
    try {
      return withHeaders(await (charge === 'search' ? searches.track(handle) : handle()), headers);
    } catch (error) {
      log.error({ err: error }, 'a handler failed');
      return failure('internal-error', undefined, { headers });
    }
  }

  /** Takes a token, then a credit; `refusal` is the problem to answer where there is none. */
  async function admit(caller: Caller, charge: CallKind | null): Promise<Ticket> {
    const rate = await rateLimiter.take(caller.accountId, caller.requestsPerMinute);
    if (!rate.admitted) {
      const refusal = failure('rate-limit-exceeded', `The account has ${rate.limit} requests per minute.`, {
        headers: { 'Retry-After': String(retryAfterS(rate)) },
      });
      return { rate, refusal, directoryIndex: null };
    }
    if (charge === null) return { rate, refusal: null, directoryIndex: null };
    return { rate, ...(await takeCredit(caller, charge)) };
  }

  async function takeCredit({ accountId, keyId }: Caller, kind: CallKind): Promise<Omit<Ticket, 'rate'>> {
    try {
      const admission = await credits.admit({ accountId, keyId, kind });
      if (admission.admitted) return { refusal: null, directoryIndex: admission.directoryIndex };
      const reset = admission.resetAt.toISOString();
      const refusal = failure('monthly-quota-exceeded', `The included credits are there again at ${reset}.`, {
        members: { quota: 'monthly_credits', limit: admission.limit, reset },
        headers: { 'Retry-After': String(admission.retryAfterS) },
      });
      return { refusal, directoryIndex: null };
    } catch (error) {
      log.warn({ err: error }, 'a credit could not be counted');
      return {
        refusal: unavailable('The credits of the account could not be counted.'),
        directoryIndex: null,
      };
    }
  }

  return { answer, answerAs };
}

function unavailable(detail: string): Answer {
  return failure('service-unavailable', detail, { headers: { 'Retry-After': '1' } });
}

function withHeaders(answer: Answer, headers: Record<string, string>): Answer {
  return answer.ok
    ? { ...answer, headers: { ...headers, ...answer.headers } }
    : { ok: false, problem: { ...answer.problem, headers: { ...headers, ...answer.problem.headers } } };
}
