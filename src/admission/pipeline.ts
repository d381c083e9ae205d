import type { Credits } from '../credits/admit.ts';
import type { Admission, CallKind } from '../credits/calls.ts';
import { OverloadedError } from '../deadline.ts';
import { isBug } from '../errors.ts';
import { type Answer, problem, unavailable } from '../http/answer.ts';
import type { Trace } from '../http/observe.ts';
import { rateLimitHeaders, retryAfterS } from '../http/rate-limit-headers.ts';
import { type Authenticator, bearerSecret, type Caller } from '../keys/authenticate.ts';
import type { Log } from '../observability/log.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import { SECOND } from '../units.ts';
import { createQueueDelay } from './queue-delay.ts';

/**
 * Requests expected to queue longer than this are refused immediately and cost nothing. Queueing them would slow everyone
 * down and charge for answers that arrive too late to be useful.
 */
const MAX_EXPECTED_WAIT_MS = 0.3 * SECOND;

/**
 * A request that waits longer than this for its rate-limit token was delayed by this process, not by Redis. It gets 503
 * before it spends a credit. This bounds a burst that was admitted before the estimate had any data.
 */
const MAX_TOKEN_WAIT_MS = 1 * SECOND;

/** What a handler gets of an admitted request. */
export interface AdmissionContext<Prefetched = unknown> {
  request: Request;
  caller: Caller;
  /** The bucket after this request took its token. */
  rate: RateDecision;
  /** What `prefetch` returned. */
  prefetched: Prefetched;
}

/** The last stage of the pipeline: what one endpoint does for an admitted request. */
export interface Handler<Prefetched = unknown> {
  /** What the credit is spent on; `null` means that the call costs none. */
  charge: CallKind | null;
  /**
   * Starts reads that `handle` will need. Runs while the credit is spent, which saves a lookup one wait. It must cost
   * nobody anything: without a credit its result is dropped.
   */
  prefetch?(request: Request): Prefetched;
  /** Validates its own input: a bad request has spent its token and its credit (specification, Order). */
  handle(context: AdmissionContext<Prefetched>): Promise<Answer>;
}

export interface Pipeline {
  /**
   * Answers one request of the API: overload, key, token, credit, handler. Each stage can end the request.
   *
   * @param caller for a request that was authenticated in another way (the dashboard's); it skips the key alone
   */
  serve(request: Request, trace: Trace, handler: Handler, caller?: Caller): Promise<Answer>;
}

export interface PipelineParts {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  credits: Credits;
  log: Log;
}

export function createPipeline({ authenticator, rateLimiter, credits, log }: PipelineParts): Pipeline {
  // The two queues that can grow: for the admission, and for the directory's search. A lookup that waits for a source
  // waits for nothing of ours, and says nothing about how busy the service is.
  const admissions = createQueueDelay();
  const searches = createQueueDelay();

  function isOverloaded({ charge }: Handler): boolean {
    const waitMs = admissions.estimateMs() + (charge === 'search' ? searches.estimateMs() : 0);
    return waitMs > MAX_EXPECTED_WAIT_MS;
  }

  async function serve(
    request: Request,
    trace: Trace,
    handler: Handler,
    known: Caller | null = null,
  ): Promise<Answer> {
    // Overload. A request without a key gets its 401 all the same; a key is not looked up: refusing must stay cheap.
    const secret = known === null ? bearerSecret(request.headers.get('authorization')) : null;
    if (known === null && secret === null) return unauthorized();
    if (isOverloaded(handler)) return overloaded();

    // Key.
    let caller = known;
    try {
      caller ??= await authenticator.authenticate(secret!);
    } catch (error) {
      if (isBug(error)) return failed(error, 'a key could not be checked');
      // Under load a key lookup times out in our own queue.
      if (error instanceof OverloadedError || isOverloaded(handler)) return overloaded();
      return problem('authentication-failed', undefined, { cause: error });
    }
    if (caller === null) return unauthorized();
    trace.account = caller.accountId;
    trace.keyId = caller.keyId;

    admissions.enter();
    let headers: Record<string, string> | undefined;
    let rate: RateDecision;
    let prefetched: unknown;
    let giveBack: (() => void) | null = null;
    try {
      // Token.
      const startedAtMs = performance.now();
      rate = await rateLimiter.take(caller.accountId, caller.requestsPerMinute);
      headers = rateLimitHeaders(rate);
      if (!rate.admitted) return withHeaders(rateLimitExceeded(rate), headers);
      if (performance.now() - startedAtMs > MAX_TOKEN_WAIT_MS) return withHeaders(overloaded(), headers);

      // Credit.
      prefetched = handler.prefetch?.(request);
      if (handler.charge !== null) {
        const payment = await spendCredit(caller, handler.charge, request.signal);
        if ('refusal' in payment) return withHeaders(payment.refusal, headers);
        giveBack = payment.giveBack;
      }
    } catch (error) {
      return failed(error, 'a request could not be admitted', headers);
    } finally {
      admissions.leave();
    }

    // Handler.
    if (handler.charge === 'search') searches.enter();
    try {
      const answer = await handler.handle({ request, caller, rate, prefetched });
      // A 503 costs nothing, whoever answers it (contract: problem details).
      if (!answer.ok && answer.problem.kind === 'service-unavailable') giveBack?.();
      return withHeaders(answer, headers);
    } catch (error) {
      return failed(error, 'a handler failed', headers);
    } finally {
      if (handler.charge === 'search') searches.leave();
    }
  }

  /** @returns the problem to answer when no credit was spent, or the way to return it */
  async function spendCredit(
    { accountId, keyId }: Caller,
    kind: CallKind,
    signal: AbortSignal,
  ): Promise<{ refusal: Answer } | { giveBack: () => void }> {
    try {
      const admission = await credits.admit({ accountId, keyId, kind, signal });
      if (!admission.admitted) return { refusal: quotaExceeded(admission) };
      const { attempt } = admission;
      return { giveBack: () => credits.giveBack({ accountId, keyId, kind, attempt }) };
    } catch (error) {
      if (isBug(error)) throw error;
      return { refusal: unavailable('The credits of the account could not be counted.', error) };
    }
  }

  /** A fault of this program: its stack goes into the log, and nothing of it to the caller. */
  function failed(error: unknown, what: string, headers?: Record<string, string>): Answer {
    log.bug(error, what);
    return problem('internal-error', undefined, { cause: error, ...(headers !== undefined && { headers }) });
  }

  return { serve };
}

function unauthorized(): Answer {
  return problem('unauthorized', undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

function overloaded(): Answer {
  return unavailable('The service is overloaded.');
}

function rateLimitExceeded(rate: RateDecision): Answer {
  return problem('rate-limit-exceeded', `The account has ${rate.limit} requests per minute.`, {
    headers: { 'Retry-After': String(retryAfterS(rate)) },
  });
}

function quotaExceeded({ limit, resetAt, retryAfterS }: Extract<Admission, { admitted: false }>): Answer {
  const reset = resetAt.toISOString();
  return problem('monthly-quota-exceeded', `The included credits are there again at ${reset}.`, {
    members: { quota: 'monthly_credits', limit, reset },
    headers: { 'Retry-After': String(retryAfterS) },
  });
}

function withHeaders(answer: Answer, headers: Record<string, string>): Answer {
  const target = answer.ok ? answer : answer.problem;
  target.headers = target.headers === undefined ? headers : { ...headers, ...target.headers };
  return answer;
}
