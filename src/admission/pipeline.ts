import { buyAddress, type Config } from '../config/config.ts';
import type { Credits } from '../credits/admit.ts';
import type { Admission, Call, CallKind } from '../credits/call.ts';
import { type Answer, failureAnswer, type ProblemAnswer, problem, unavailable } from '../http/answer.ts';
import { isFree } from '../http/error-kind.ts';
import type { Trace } from '../http/observe.ts';
import type { ProblemName } from '../http/problems.ts';
import { type Authenticator, bearerSecret, type Caller } from '../keys/authenticate.ts';
import type { Log } from '../observability/log.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import { createLoad, isSearch } from './load.ts';
import * as refusals from './refusals.ts';

/** The credits that a request was charged. */
export interface Payment extends Pick<Admission, 'spent' | 'left' | 'giveBack'> {
  /** Why the request got fewer credits than it needs; `null` means that it got all. */
  refusal: ProblemAnswer | null;
}

const NOTHING_PAID: Payment = { spent: 0, left: null, refusal: null, giveBack() {} };

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
   * pipeline gives them back. A request with an `identity` (identity.ts) spends them once, however often it is sent.
   */
  spend(kind: CallKind, credits: number, identity?: string): Promise<Payment>;
}

/** The last stage of the pipeline: what one endpoint does for an admitted request. */
export interface Handler<Prefetched = unknown> {
  /** The kind of call that a credit is spent on before the handler runs; `null` means none. */
  charge: CallKind | null;
  /** Identifies a request that is charged before the handler runs (identity.ts). */
  identify?(accountId: string): string | null | undefined;
  /** Whether the trace tells the credits that are left. It makes the charge of its batch a little dearer. */
  tellsLeft?: boolean;
  /**
   * Starts reads that `handle` will need. Runs while the credit is spent, which saves a lookup one wait. It must cost
   * nobody anything: without a credit its result is dropped.
   */
  prefetch?(request: Request): Prefetched;
  /** Validates its own input: a bad request has spent its token and its credit (specification, Order). */
  handle(context: AdmissionContext<Prefetched>): Promise<Answer>;
}

export type Pipeline = ReturnType<typeof createPipeline>;

export interface PipelineParts extends Pick<Config, 'buyUrl'> {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  credits: Credits;
  /** Counts an error answer to a known caller, and the credits that it cost, for the account's statistics. */
  countError(caller: Caller, problem: ProblemName, credits: number): void;
  log: Log;
}

export function createPipeline(parts: PipelineParts) {
  const { authenticator, rateLimiter, credits, countError, log } = parts;
  const load = createLoad();

  /**
   * Answers one request of the API: overload, key, token, credit, handler. Each stage can end the request.
   *
   * @param known the caller of a request that was authenticated in another way (the dashboard's); it skips the key alone
   */
  async function serve(
    request: Request,
    trace: Trace,
    { charge, tellsLeft, identify, prefetch, handle }: Handler,
    known: Caller | null = null,
  ): Promise<Answer> {
    const arrivedMs = performance.now();
    // Overload. A request without a key still gets its 401. A key is not looked up, because refusing must stay cheap.
    const secret = known === null ? bearerSecret(request.headers.get('authorization')) : null;
    if (known === null && secret === null) return refusals.unauthorized();
    load.read();
    if (load.isOverloaded(charge)) return refusals.overloaded();

    let caller: Caller | null = null;
    let headers: Record<string, string> | undefined;
    let payment = NOTHING_PAID;
    try {
      // Key. Under load a key lookup times out in our own queue.
      try {
        caller = known ?? (await authenticator.authenticate(secret!));
      } catch (cause) {
        const failed = problem('authentication-failed', undefined, { cause });
        return failureAnswer(cause, load.isOverloaded(charge) ? refusals.overloaded() : failed);
      }
      if (caller === null) return refusals.unauthorized();
      trace.account = caller.accountId;
      trace.keyId = caller.keyId;

      let rate: RateDecision;
      let prefetched: unknown;
      load.admissions.enter();
      try {
        // Token.
        rate = await rateLimiter.take(caller.accountId, caller.requestsPerMinute);
        headers = refusals.rateLimitHeaders(rate);
        if (!rate.admitted) return end(caller, refusals.rateLimitExceeded(rate), headers);

        // Credit.
        prefetched = prefetch?.(request);
        if (charge !== null) {
          const identity = identify?.(caller.accountId) ?? undefined;
          payment = await pay(request, caller, { kind: charge, credits: 1, identity, wantsLeft: tellsLeft });
        }
        if (payment.refusal !== null) return end(caller, payment.refusal, headers);
      } finally {
        load.admissions.leave();
      }

      // Handler.
      const payer = caller;
      const spend = async (kind: CallKind, credits: number, identity?: string) => {
        if (load.isOverloaded(kind)) return { ...NOTHING_PAID, refusal: refusals.overloaded() };
        load.admissions.enter();
        payment = await pay(request, payer, { kind, credits, identity, wantsLeft: tellsLeft }).finally(
          load.admissions.leave,
        );
        return payment;
      };
      if (isSearch(charge)) load.searches.enter();
      let answer: Answer;
      try {
        answer = await handle({ request, arrivedMs, caller, rate, prefetched, spend });
      } finally {
        if (isSearch(charge)) load.searches.leave();
      }
      // A 503 costs nothing, also if the handler answers it (contract: problem details).
      if (!answer.ok && answer.problem.kind === 'service-unavailable') payment.giveBack(payment.spent);
      else trace.creditsLeft = payment.left;
      return end(caller, answer, headers, payment.spent);
    } catch (error) {
      // A fault of this program: its stack goes into the log, and nothing of it to the caller.
      log.bug(error, 'a request could not be answered');
      const answer = problem('internal-error', undefined, { cause: error });
      return caller === null ? answer : end(caller, answer, headers, payment.spent);
    }
  }

  async function pay(
    { signal }: Request,
    caller: Caller,
    call: Pick<Call, 'kind' | 'credits' | 'identity' | 'wantsLeft'>,
  ): Promise<Payment> {
    try {
      const { accountId, keyId } = caller;
      const { quota, ...paid } = await credits.admit({ accountId, keyId, ...call, signal });
      return {
        ...paid,
        refusal: quota && refusals.quotaExceeded(quota, buyAddress(parts.buyUrl, caller.accountId)),
      };
    } catch (cause) {
      const uncounted = unavailable('The credits of the account could not be counted.', cause);
      return { ...NOTHING_PAID, refusal: failureAnswer(cause, uncounted) };
    }
  }

  /**
   * The last step of every answer to a known caller. Of several items each one with a problem counts.
   * @param headers those of the bucket, if it was asked
   */
  function end(caller: Caller, answer: Answer, headers: Record<string, string> = {}, spent = 0): Answer {
    if (!answer.ok) count(caller, answer.problem.kind, spent);
    else for (const kind of answer.itemProblems ?? []) count(caller, kind, 1);
    const target = answer.ok ? answer : answer.problem;
    target.headers = target.headers === undefined ? headers : { ...headers, ...target.headers };
    return answer;
  }

  function count(caller: Caller, kind: ProblemName, credits: number): void {
    countError(caller, kind, isFree(kind) ? 0 : credits);
  }

  return { serve };
}
