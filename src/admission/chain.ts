import type { Credits } from '../credits/admit.ts';
import type { CallKind } from '../credits/spend.ts';
import { type Answer, failure } from '../http/answer.ts';
import type { Log } from '../http/log.ts';
import { rateLimitHeaders, retryAfterS } from '../http/rate-limit-headers.ts';
import type { Authenticator, Caller } from '../keys/authenticate.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';

/** What a handler knows of an admitted request. */
export interface Admitted {
  request: Request;
  caller: Caller;
  /** The bucket after this request took its token. */
  rate: RateDecision;
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

export interface ChainParts {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  credits: Credits;
  log: Log;
}

export function createChain({ authenticator, rateLimiter, credits, log }: ChainParts): Chain {
  async function answer(
    request: Request,
    trace: Trace,
    charge: CallKind | null,
    handler: Handler,
  ): Promise<Answer> {
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

    const rate = await rateLimiter.take(caller.accountId, caller.requestsPerMinute);
    const headers = rateLimitHeaders(rate);
    if (!rate.admitted) {
      const detail = `The account has ${rate.limit} requests per minute.`;
      return failure('rate-limit-exceeded', detail, {
        headers: { ...headers, 'Retry-After': String(retryAfterS(rate)) },
      });
    }

    if (charge !== null) {
      const refusal = await takeCredit(caller, charge);
      if (refusal !== null) return withHeaders(refusal, headers);
    }

    try {
      return withHeaders(await handler({ request, caller, rate }), headers);
    } catch (error) {
      log.error({ err: error }, 'a handler failed');
      return failure('internal-error', undefined, { headers });
    }
  }

  /** Spends a credit; the problem to answer when there is none, or when the ledger can't be asked. */
  async function takeCredit({ accountId, keyId }: Caller, kind: CallKind): Promise<Answer | null> {
    try {
      const admission = await credits.admit({ accountId, keyId, kind });
      if (admission.admitted) return null;
      const reset = admission.resetAt.toISOString();
      return failure('monthly-quota-exceeded', `The included credits are there again at ${reset}.`, {
        members: { quota: 'monthly_credits', limit: admission.limit, reset },
        headers: { 'Retry-After': String(admission.retryAfterS) },
      });
    } catch (error) {
      log.warn({ err: error }, 'a credit could not be counted');
      return failure('service-unavailable', undefined, { headers: { 'Retry-After': '1' } });
    }
  }

  return { answer, answerAs };
}

function withHeaders(answer: Answer, headers: Record<string, string>): Answer {
  return answer.ok
    ? { ...answer, headers: { ...headers, ...answer.headers } }
    : { ok: false, problem: { ...answer.problem, headers: { ...headers, ...answer.problem.headers } } };
}
