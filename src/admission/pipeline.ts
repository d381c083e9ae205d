import type { Credits } from '../credits/admit.ts';
import type { Admission, CallKind } from '../credits/calls.ts';
import { isBug } from '../errors.ts';
import { type Answer, type ProblemAnswer, problem, unavailable } from '../http/answer.ts';
import type { Trace } from '../http/observe.ts';
import type { ProblemName } from '../http/problems.ts';
import { rateLimitHeaders, retryAfterS } from '../http/rate-limit-headers.ts';
import { type Authenticator, bearerSecret, type Caller } from '../keys/authenticate.ts';
import type { Log } from '../observability/log.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import { OverloadedError } from '../runtime/timeout.ts';
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

/** The credits that a request was charged. */
export interface Payment {
  /** Credits. */
  spent: number;
  /** The problem of the items of a batch lookup that the credits did not suffice for; `null` when they sufficed for all. */
  refusal: ProblemAnswer | null;
  /** Returns one of the credits, for an item that is answered 503 after all. The pipeline does it for a whole answer. */
  giveBack(): void;
}

const UNPAID: Payment = { spent: 0, refusal: null, giveBack() {} };

/** An admitted request, as its handler gets it. */
export interface AdmissionContext<Prefetched = unknown> extends Payment {
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
  /** Calls that the request counts as where the load is estimated; 1 when absent. */
  load?: number;
  /**
   * How many credits the request costs; absent means one. Decided before they are taken: each one that is charged gets an
   * answer. A problem ends the request, and costs none.
   */
  price?(prefetched: Prefetched): Promise<number | ProblemAnswer>;
  /** Validates its own input: a bad request has spent its token and its credit (specification, Order). */
  handle(context: AdmissionContext<Prefetched>): Promise<Answer>;
}

/** An endpoint whose handler depends on the request's body. */
export interface BodyHandler {
  charge: CallKind;
  /** Reads the body. @returns the handler of this one request, or a problem that ends it without a credit */
  receive(request: Request): Promise<Handler | ProblemAnswer>;
}

export interface Pipeline {
  /**
   * Answers one request of the API: overload, key, token, body, credit, handler. Each stage can end the request.
   *
   * @param caller for a request that was authenticated in another way (the dashboard's); it skips the key alone
   */
  serve(request: Request, trace: Trace, endpoint: Handler | BodyHandler, caller?: Caller): Promise<Answer>;
}

export interface PipelineParts {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  credits: Credits;
  /** Counts an error answer to a known caller, for the account's statistics. */
  countError(caller: Caller, problem: ProblemName): void;
  log: Log;
}

export function createPipeline(parts: PipelineParts): Pipeline {
  const { authenticator, rateLimiter, credits, countError, log } = parts;
  // The two queues that can grow: for the admission, and for the directory's search. A lookup that waits for a source
  // waits for nothing of ours, and says nothing about how busy the service is.
  const admissions = createQueueDelay();
  const searches = createQueueDelay();

  function isOverloaded({ charge, load = 1 }: Pick<Handler, 'charge' | 'load'>): boolean {
    const waitMs = admissions.estimateMs(load - 1) + (charge === 'search' ? searches.estimateMs() : 0);
    return waitMs > MAX_EXPECTED_WAIT_MS;
  }

  async function serve(
    request: Request,
    trace: Trace,
    endpoint: Handler | BodyHandler,
    known: Caller | null = null,
  ): Promise<Answer> {
    // Overload. A request without a key still gets its 401. A key is not looked up, because refusing must stay cheap.
    const secret = known === null ? bearerSecret(request.headers.get('authorization')) : null;
    if (known === null && secret === null) return unauthorized();
    if (isOverloaded(endpoint)) return overloaded();

    // Key.
    let caller = known;
    try {
      caller ??= await authenticator.authenticate(secret!);
    } catch (error) {
      if (isBug(error)) return failed(error, 'a key could not be checked');
      // Under load a key lookup times out in our own queue.
      if (error instanceof OverloadedError || isOverloaded(endpoint)) return overloaded();
      return problem('authentication-failed', undefined, { cause: error });
    }
    if (caller === null) return unauthorized();
    trace.account = caller.accountId;
    trace.keyId = caller.keyId;

    let load = 1;
    admissions.enter();
    let headers: Record<string, string> | undefined;
    let rate: RateDecision;
    let handler: Handler;
    let prefetched: unknown;
    let payment = UNPAID;
    try {
      // Token.
      const startedAtMs = performance.now();
      rate = await rateLimiter.take(caller.accountId, caller.requestsPerMinute);
      headers = rateLimitHeaders(rate);
      if (!rate.admitted) return end(caller, rateLimitExceeded(rate), headers);
      if (performance.now() - startedAtMs > MAX_TOKEN_WAIT_MS) return end(caller, overloaded(), headers);

      // Body. The specification's order has no such stage, because its three endpoints have no body. Here the body says
      // how many credits the request costs, so it is read before them. A slow sender is not in our queue meanwhile.
      if ('receive' in endpoint) {
        admissions.leave();
        load = 0;
        const received = await endpoint.receive(request);
        if ('ok' in received) return end(caller, received, headers);
        if (isOverloaded(received)) return end(caller, overloaded(), headers);
        handler = received;
        load = handler.load ?? 1;
        admissions.enter(load);
      } else {
        handler = endpoint;
      }

      // Credit.
      prefetched = handler.prefetch?.(request);
      if (handler.charge !== null) {
        const price = handler.price === undefined ? 1 : await handler.price(prefetched);
        if (typeof price !== 'number') return end(caller, price, headers);
        const paid = await spendCredits(caller, handler.charge, price, request.signal);
        if ('ok' in paid) return end(caller, paid, headers);
        payment = paid;
      }
    } catch (error) {
      return end(caller, failed(error, 'a request could not be admitted'), headers);
    } finally {
      admissions.leave(load);
    }

    // Handler.
    if (handler.charge === 'search') searches.enter();
    try {
      const answer = await handler.handle({ request, caller, rate, prefetched, ...payment });
      // A 503 costs nothing, also if the handler answers it (contract: problem details).
      if (!answer.ok && answer.problem.kind === 'service-unavailable') {
        for (let credit = 0; credit < payment.spent; credit += 1) payment.giveBack();
      }
      return end(caller, answer, headers);
    } catch (error) {
      return end(caller, failed(error, 'a handler failed'), headers);
    } finally {
      if (handler.charge === 'search') searches.leave();
    }
  }

  /** @returns the problem to answer when no credit was spent */
  async function spendCredits(
    { accountId, keyId }: Caller,
    kind: CallKind,
    price: number,
    signal: AbortSignal,
  ): Promise<Payment | ProblemAnswer> {
    try {
      const admission = await credits.admit({ accountId, keyId, kind, credits: price, signal });
      const refusal = admission.admitted ? null : quotaExceeded(admission);
      if (refusal !== null && admission.spent === 0) return refusal;
      return { spent: admission.spent, refusal, giveBack: admission.giveBack };
    } catch (error) {
      if (isBug(error)) throw error;
      return unavailable('The credits of the account could not be counted.', error);
    }
  }

  /** A fault of this program: its stack goes into the log, and nothing of it to the caller. */
  function failed(error: unknown, what: string): Answer {
    log.bug(error, what);
    return problem('internal-error', undefined, { cause: error });
  }

  /** The last step of every answer to a known caller. @param headers absent: the bucket could not be asked */
  function end(caller: Caller, answer: Answer, headers: Record<string, string> = {}): Answer {
    if (!answer.ok) countError(caller, answer.problem.kind);
    else if (answer.itemProblems !== undefined) {
      for (const kind of answer.itemProblems) countError(caller, kind);
    }
    const target = answer.ok ? answer : answer.problem;
    target.headers = target.headers === undefined ? headers : { ...headers, ...target.headers };
    return answer;
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

function quotaExceeded({
  limit,
  resetAt,
  retryAfterS,
}: Extract<Admission, { admitted: false }>): ProblemAnswer {
  const reset = resetAt.toISOString();
  return problem('monthly-quota-exceeded', `The included credits are there again at ${reset}.`, {
    members: { quota: 'monthly_credits', limit, reset },
    headers: { 'Retry-After': String(retryAfterS) },
  });
}
