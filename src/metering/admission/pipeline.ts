/**
 * The stages of a request of the API. Each can end it.
 *
 * 1. overload: a request that would wait for too long is shed, before its key is looked up
 * 2. key: the caller
 * 3. token: one of the account's bucket, and one of each share; then the right of the key
 * 4. body: read, if the call has one; then the key once more, because a sender may be slow
 * 5. quote: the handler starts its reads and says the price
 * 6. credits: the price is charged
 * 7. answer: written from what was paid; sent once credits that it did not use are refunded
 */

import {
  type Answer,
  failureAnswer,
  overloaded,
  type ProblemAnswer,
  problem,
  unavailable,
} from '../../http/answer.ts';
import { CREDITS_HEADER, TEST_KEY_HEADER } from '../../http/api-route.ts';
import type { Trace } from '../../http/observe.ts';
import { permits } from '../../http/right.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Log } from '../../platform/observability/log.ts';
import { buyAddress } from '../accounts/buy-address.ts';
import type { Claim } from '../credits/call.ts';
import type { Credits } from '../credits/charge.ts';
import { type Authenticator, bearerToken, type Caller } from '../keys/authenticate.ts';
import { hasSecretLength } from '../keys/secret.ts';
import type { Notes } from '../notes/notes.ts';
import type { RateDecision, RateLimiter } from '../rate-limit/bucket.ts';
import type { FaceCall } from './face.ts';
import { createLoad } from './load.ts';
import { NOTHING_PAID, type Payment, type Quote } from './quote.ts';
import * as refusals from './refusals.ts';

/** Why an item stays without an answer though the account has credits. */
const PAID_BEFORE =
  'An earlier sending with this Idempotency-Key has paid for fewer items. Ask for the others by another request.';

export type Pipeline = ReturnType<typeof createPipeline>;

export interface PipelineParts extends Pick<Config, 'buyUrl'> {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  credits: Credits;
  /** The entry of a call in the journal, for the account's activity; `undefined` means none. */
  entryOf(trace: Trace): string | undefined;
  /** Of answers that were a problem, or repeat an earlier one. */
  notes: Pick<Notes, 'answered'>;
  log: Log;
}

/** The parts of a request that the stages before its handler read. */
type Sender = Pick<Request, 'headers' | 'signal'>;

/** A request ends with this answer while its body or its quote is waited for, before anything is charged. */
class EndedError extends Error {
  constructor(readonly answer: Answer) {
    super('the request has ended');
  }
}

export function createPipeline(parts: PipelineParts) {
  const { authenticator, rateLimiter, credits, entryOf, notes, log } = parts;
  const load = createLoad();

  /**
   * Answers one request of the API.
   *
   * @param known the caller of a request that was authenticated in another way (the dashboard's); it skips the key alone
   */
  async function serve(
    request: Sender,
    trace: Trace,
    call: FaceCall,
    known: Caller | null = null,
  ): Promise<Answer> {
    const arrivedMs = performance.now();
    // Overload. A request without a key still gets its 401. A key is not looked up, because refusing must stay cheap.
    const token = known === null ? bearerToken(request.headers.get('authorization')) : null;
    if (known === null && token === null) return refusals.noKey();
    if (token !== null && !hasSecretLength(token)) return refusals.unauthorized();
    load.read();
    if (load.isOverloaded(call.charge)) return overloaded();

    let caller: Caller | null = null;
    let rate: RateDecision | undefined;
    let payment = NOTHING_PAID;
    let quote: Quote | undefined;
    let claim: Claim | undefined;

    /** Looks the key up once more, because the request has waited since. @throws EndedError if it may not go on */
    async function lookAgain(): Promise<void> {
      if (known !== null) return;
      const again = await identify(token!, trace, call);
      if ('problem' in again) throw new EndedError(again);
      caller = again;
      if (!permits(caller.only, call.right))
        throw new EndedError(end(caller, trace, refusals.notPermitted(call.right!), rate));
    }

    try {
      // Key.
      const identified = known ?? (await identify(token!, trace, call));
      if ('problem' in identified) return identified;
      caller = identified;
      trace.account = caller.accountId;
      trace.keyId = caller.keyId;
      trace.isTest = caller.isTest;

      load.admissions.enter();
      try {
        // Token.
        rate = await rateLimiter.take(caller.accountId, caller.requestsPerMinute, caller.shares);
        if (!rate.taken) return end(caller, trace, refusals.rateLimitExceeded(rate), rate);

        if (!permits(caller.only, call.right))
          return end(caller, trace, refusals.notPermitted(call.right!), rate);

        // Body.
        const body = call.readBody && (await outsideQueue(call.readBody()));
        if (body === 'unread')
          return end(caller, trace, unavailable('The request was not read to its end.'), rate);
        if (body !== undefined) await lookAgain();

        // Quote.
        const claimFor = async (identity: string) => {
          if (caller!.isTest) return null;
          claim = await credits.claim(caller!, identity, request.signal).catch((cause) => {
            throw new EndedError(end(caller!, trace, refusals.notClaimed(cause), rate));
          });
          // It may have waited for another sending.
          await lookAgain();
          return claim.earlier?.kept ?? null;
        };
        const quoted = call.quote({ arrivedMs, caller, rate, claim: claimFor }, body);
        quote = quoted instanceof Promise ? await outsideQueue(quoted) : quoted;

        // Credits.
        // After reads that are due it is too late to shed it.
        const isLate =
          quoted instanceof Promise && !quote.isDue && quote.kind !== null && load.isOverloaded(quote.kind);
        payment = isLate ? refusedBy(overloaded()) : await pay(request, trace, caller, quote, claim);
      } finally {
        load.admissions.leave();
      }
      if (payment.refusal !== null && payment.spent === 0) return end(caller, trace, payment.refusal, rate);

      // Answer.
      if (quote.isSearch) load.searches.enter();
      let answer: Answer;
      try {
        answer = await quote.answer(payment);
      } finally {
        if (quote.isSearch) load.searches.leave();
      }
      // A 503 costs nothing (docs/api.md: problems).
      const isUnavailable = !answer.ok && answer.problem.kind === 'service-unavailable';
      if (isUnavailable) payment.refund(payment.spent);
      await payment.settle();
      return end(caller, trace, answer, rate, payment);
    } catch (error) {
      if (error instanceof EndedError) return error.answer;
      // A fault of this program: its stack goes into the log, and nothing of it to the caller.
      log.bug(error, 'a request could not be answered');
      const answer = problem('internal-error', undefined, { cause: error });
      await payment.settle();
      return caller === null ? answer : end(caller, trace, answer, rate, payment);
    } finally {
      if (caller !== null) trace.credits = payment.cost;
      quote?.end?.(payment);
      if (claim !== undefined) credits.release(claim);
    }
  }

  /** The caller of a secret, or the answer to one that is refused. Under load a key lookup times out in our own queue. */
  async function identify(secret: string, trace: Trace, call: FaceCall): Promise<Caller | ProblemAnswer> {
    try {
      const caller = await authenticator.authenticate(secret, trace, call.takesConnections);
      return caller ?? refusals.unauthorized();
    } catch (cause) {
      const failed = problem('authentication-failed', undefined, { cause });
      return failureAnswer(cause, load.isOverloaded(call.charge) ? overloaded() : failed);
    }
  }

  /** Waits for a body or a quote, which may take long, so the request leaves the queue of admissions meanwhile. */
  async function outsideQueue<T>(waited: Promise<T>): Promise<T> {
    load.admissions.leave();
    return waited.finally(load.admissions.enter);
  }

  const refusedBy = (refusal: ProblemAnswer): Payment => ({ ...NOTHING_PAID, refusal });

  /** The one place where a request is charged. */
  async function pay(
    { signal }: Sender,
    trace: Trace,
    { accountId, keyId, isTest, budget, only }: Caller,
    { kind, credits: needed, wantsLeft, isDue }: Quote,
    claim: Claim | undefined,
  ): Promise<Payment> {
    if (kind === null) return NOTHING_PAID;
    // A test key's request has all the credits that it needs, and costs none.
    if (isTest) return { ...NOTHING_PAID, spent: needed };
    try {
      const paid = await credits.charge({
        accountId,
        keyId,
        kind,
        credits: needed,
        hasBudget: budget !== null,
        activity: entryOf(trace),
        claim,
        ...(isDue !== true && { signal }),
      });
      let refusal: ProblemAnswer | null = null;
      if (paid.reason !== null)
        refusal =
          'per' in paid.reason
            ? refusals.budgetExceeded(paid.reason)
            : refusals.quotaExceeded(paid.reason, buyAddress(parts.buyUrl, accountId), only);
      else if (paid.spent < needed) refusal = unavailable(PAID_BEFORE);
      // The request is paid, so it is answered also if this read fails.
      const left =
        wantsLeft && paid.spent > 0 ? await credits.left({ accountId, keyId }).catch(() => null) : null;
      let unused = 0;
      const payment: Payment = {
        ...paid,
        ...{ refusal, left, cost: paid.isRepeated ? 0 : paid.spent },
        refund(credits) {
          unused = Math.min(unused + credits, paid.spent);
          payment.cost = Math.max(payment.cost - credits, 0);
        },
        settle: () => paid.refund(unused),
      };
      return payment;
    } catch (cause) {
      const uncounted = unavailable('The credits of the account could not be counted.', cause);
      return refusedBy(failureAnswer(cause, uncounted));
    }
  }

  /**
   * The last step of every answer to a known caller.
   * @param rate `undefined` means that the bucket was not asked
   */
  function end(
    caller: Caller,
    trace: Trace,
    answer: Answer,
    rate: RateDecision | undefined,
    { spent, isRepeated, cost: charged } = NOTHING_PAID,
  ): Answer {
    if (!caller.isTest) notes.answered(caller, trace, answer, { spent, isRepeated });
    const target = answer.ok ? answer : answer.problem;
    // With a real key it comes before the token. So a test key that calls it up gets no headers of the bucket, either.
    const isBeforeToken = !answer.ok && answer.problem.kind === 'authentication-failed';
    const headers: Record<string, string> = {};
    if (!isBeforeToken) {
      headers[CREDITS_HEADER] = String(charged);
      // A refusal by rate has made them.
      if (rate?.taken) Object.assign(headers, refusals.rateLimitHeaders(rate));
    }
    if (rate !== undefined && caller.isTest) headers[TEST_KEY_HEADER] = 'true';
    target.headers = target.headers === undefined ? headers : { ...headers, ...target.headers };
    return answer;
  }

  return { serve };
}
