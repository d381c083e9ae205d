import type { Credits } from '../credits/admit.ts';
import type { Admission, CallKind } from '../credits/call.ts';
import { isBug } from '../errors.ts';
import { type Answer, type ProblemAnswer, problem, unavailable } from '../http/answer.ts';
import type { Trace } from '../http/observe.ts';
import type { ProblemName } from '../http/problems.ts';
import { type Authenticator, bearerSecret, type Caller } from '../keys/authenticate.ts';
import type { Log } from '../observability/log.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import { OverloadedError } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';
import { createQueueDelay } from './queue-delay.ts';
import * as refusals from './refusals.ts';
import { createTurnDelay } from './turn-delay.ts';

/**
 * Requests expected to queue longer than this are refused immediately and cost nothing. Queueing them would slow everyone
 * down and charge for answers that arrive too late to be useful.
 */
const MAX_EXPECTED_WAIT_MS = 0.3 * SECOND;

/** The credits that a request was charged. */
export interface Payment extends Pick<Admission, 'spent' | 'giveBack'> {
  /** Why the request got fewer credits than it needs; `null` means that it got all. */
  refusal: ProblemAnswer | null;
}

const NOTHING_PAID: Payment = { spent: 0, refusal: null, giveBack() {} };

/** A request that has taken its token and its credit, as its handler gets it. */
export interface AdmissionContext<Prefetched = unknown> {
  request: Request;
  /** When the request arrived, by `performance.now()`. */
  arrivedMs: number;
  caller: Caller;
  /** The bucket after this request took its token. */
  rate: RateDecision;
  /** The result of `prefetch`. */
  prefetched: Prefetched;
  /**
   * Spends credits for a handler that knows only from the request's body how many. If the whole answer is a 503 after all, the
   * pipeline gives them back.
   */
  spend(kind: CallKind, credits: number): Promise<Payment>;
}

/** The last stage of the pipeline: what one endpoint does for an admitted request. */
export interface Handler<Prefetched = unknown> {
  /** The kind of call that a credit is spent on before the handler runs; `null` means none. */
  charge: CallKind | null;
  /**
   * Starts reads that `handle` will need. Runs while the credit is spent, which saves a lookup one wait. It must cost
   * nobody anything: without a credit its result is dropped.
   */
  prefetch?(request: Request): Prefetched;
  /** Validates its own input: a bad request has spent its token and its credit (specification, Order). */
  handle(context: AdmissionContext<Prefetched>): Promise<Answer>;
}

export type Pipeline = ReturnType<typeof createPipeline>;

export interface PipelineParts {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  credits: Credits;
  /** Counts an error answer to a known caller, for the account's statistics. */
  countError(caller: Caller, problem: ProblemName): void;
  log: Log;
}

export function createPipeline({ authenticator, rateLimiter, credits, countError, log }: PipelineParts) {
  // The two queues that can grow: for the admission, and for the directory's search. A lookup that waits for a source
  // waits for nothing of ours, and says nothing about how busy the service is.
  const admissions = createQueueDelay();
  const searches = createQueueDelay();
  const turns = createTurnDelay();

  function isOverloaded(charge: CallKind | null): boolean {
    const searchMs = charge === 'search' ? searches.estimateMs() : 0;
    return turns.estimateMs() + admissions.estimateMs() + searchMs > MAX_EXPECTED_WAIT_MS;
  }

  /**
   * Answers one request of the API: overload, key, token, credit, handler. Each stage can end the request.
   *
   * @param known the caller of a request that was authenticated in another way (the dashboard's); it skips the key alone
   */
  async function serve(
    request: Request,
    trace: Trace,
    { charge, prefetch, handle }: Handler,
    known: Caller | null = null,
  ): Promise<Answer> {
    const arrivedMs = performance.now();
    // Overload. A request without a key still gets its 401. A key is not looked up, because refusing must stay cheap.
    const secret = known === null ? bearerSecret(request.headers.get('authorization')) : null;
    if (known === null && secret === null) return refusals.unauthorized();
    turns.read();
    if (isOverloaded(charge)) return refusals.overloaded();

    // Key.
    let caller = known;
    try {
      caller ??= await authenticator.authenticate(secret!);
    } catch (error) {
      if (isBug(error)) return failed(error, 'a key could not be checked');
      // Under load a key lookup times out in our own queue.
      if (error instanceof OverloadedError || isOverloaded(charge)) return refusals.overloaded();
      return problem('authentication-failed', undefined, { cause: error });
    }
    if (caller === null) return refusals.unauthorized();
    trace.account = caller.accountId;
    trace.keyId = caller.keyId;

    let headers: Record<string, string> | undefined;
    let rate: RateDecision;
    let prefetched: unknown;
    let payment = NOTHING_PAID;
    admissions.enter();
    try {
      // Token.
      rate = await rateLimiter.take(caller.accountId, caller.requestsPerMinute);
      headers = refusals.rateLimitHeaders(rate);
      if (!rate.admitted) return end(caller, refusals.rateLimitExceeded(rate), headers);

      // Credit.
      prefetched = prefetch?.(request);
      if (charge !== null) {
        payment = await pay(request, caller, charge, 1);
        if (payment.refusal !== null) return end(caller, payment.refusal, headers);
      }
    } catch (error) {
      return end(caller, failed(error, 'a request could not be admitted'), headers);
    } finally {
      admissions.leave();
    }

    // Handler.
    if (charge === 'search') searches.enter();
    try {
      const spend = async (kind: CallKind, count: number) => {
        if (isOverloaded(kind)) return { ...NOTHING_PAID, refusal: refusals.overloaded() };
        admissions.enter();
        payment = await pay(request, caller, kind, count).finally(admissions.leave);
        return payment;
      };
      const answer = await handle({ request, arrivedMs, caller, rate, prefetched, spend });
      // A 503 costs nothing, also if the handler answers it (contract: problem details).
      if (!answer.ok && answer.problem.kind === 'service-unavailable') payment.giveBack(payment.spent);
      return end(caller, answer, headers);
    } catch (error) {
      return end(caller, failed(error, 'a handler failed'), headers);
    } finally {
      if (charge === 'search') searches.leave();
    }
  }

  async function pay({ signal }: Request, caller: Caller, kind: CallKind, count: number): Promise<Payment> {
    try {
      const { quota, ...paid } = await credits.admit({ ...caller, kind, credits: count, signal });
      return { ...paid, refusal: quota && refusals.quotaExceeded(quota) };
    } catch (error) {
      if (isBug(error)) throw error;
      const refusal = unavailable('The credits of the account could not be counted.', error);
      return { ...NOTHING_PAID, refusal };
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
    else for (const kind of answer.itemProblems ?? []) countError(caller, kind);
    const target = answer.ok ? answer : answer.problem;
    target.headers = target.headers === undefined ? headers : { ...headers, ...target.headers };
    return answer;
  }

  return { serve };
}
