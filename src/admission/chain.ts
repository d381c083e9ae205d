import type { Credits } from '../credits/admit.ts';
import type { Admission, CallKind } from '../credits/calls.ts';
import { OverloadedError } from '../deadline.ts';
import { type Answer, failure } from '../http/answer.ts';
import { rateLimitHeaders, retryAfterS } from '../http/rate-limit-headers.ts';
import { type Authenticator, type Caller, carriesKey } from '../keys/authenticate.ts';
import type { Log } from '../observability/log.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import { SECOND } from '../units.ts';
import { createLoad } from './load.ts';

/**
 * What would wait longer than this is refused at once, before it costs anything: to queue would make everybody
 * slow, and charge for answers that come too late to be of use.
 */
const MAX_EXPECTED_WAIT_MS = 0.3 * SECOND;

/**
 * Who has waited this long for a token has waited for this process: the same answer, before it costs a credit. It bounds what
 * was let in before anybody knew how much would come.
 */
const MAX_WAIT_MS = 1 * SECOND;

/** What a handler knows of an admitted request. */
export interface Admitted {
  caller: Caller;
  /** The bucket after this request took its token. */
  rate: RateDecision;
  /** The search index that was current when the credit was spent; null: none, or no credit was. */
  directoryIndex: string | null;
}

/**
 * Answers one admitted request. What it throws is an `internal-error`.
 *
 * It may begin to read what it will need while the credit is being spent: it is called with the request as soon as that
 * has its token, and the function that it returns once the credit is paid. What it begins costs nobody anything and is
 * thrown away where there is no credit.
 */
export type Handler = (request: Request) => (admitted: Admitted) => Promise<Answer>;

/** Told as soon as it is known, so that the log line of a request that fails later still has it. */
export interface Trace {
  account?: string;
}

/**
 * The chain that every request of the API passes, in the specification's order: authentication, bucket, credit,
 * handler. An overloaded service refuses before the first, but for requests without a key. The handler validates its own
 * input: a bad request has spent its token and its credit by then.
 */
export interface Chain {
  /** @param charge what the credit is spent on; null: the call costs none */
  answer(request: Request, trace: Trace, charge: CallKind | null, handler: Handler): Answer | Promise<Answer>;
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
type Ticket = { rate: RateDecision } & (
  | { refusal: Answer }
  | { refusal: null; handle: ReturnType<Handler>; directoryIndex: string | null }
);

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

  function answer(
    request: Request,
    trace: Trace,
    charge: CallKind | null,
    handler: Handler,
  ): Answer | Promise<Answer> {
    const authorization = request.headers.get('authorization');
    // A key is not looked up where the answer would be late all the same: to refuse must stay cheap. Only who has none
    // hears of that first.
    if (isOverloaded(charge) && carriesKey(authorization)) return overloaded();
    return answerKey(authorization, request, trace, charge, handler);
  }

  async function answerKey(
    authorization: string | null,
    request: Request,
    trace: Trace,
    charge: CallKind | null,
    handler: Handler,
  ): Promise<Answer> {
    let caller: Caller | null;
    try {
      caller = await authenticator.authenticate(authorization);
    } catch (error) {
      // Who came with a crowd has waited for the crowd, and not for Postgres.
      if (error instanceof OverloadedError || isOverloaded(charge)) {
        return overloaded();
      }
      return failure('authentication-failed', undefined, { cause: error });
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
    admissions.begin();
    let ticket: Ticket;
    try {
      ticket = await admit(request, caller, charge, handler);
    } finally {
      admissions.end();
    }
    const { rate } = ticket;
    const headers = rateLimitHeaders(rate);
    if (ticket.refusal !== null) return withHeaders(ticket.refusal, headers);

    const { handle, directoryIndex } = ticket;
    if (charge === 'search') searches.begin();
    try {
      return withHeaders(await handle({ caller, rate, directoryIndex }), headers);
    } catch (error) {
      log.bug(error, 'a handler failed');
      return failure('internal-error', undefined, { headers, cause: error });
    } finally {
      if (charge === 'search') searches.end();
    }
  }

  /** Takes a token, then a credit; `refusal` is the problem to answer where there is none. */
  async function admit(
    request: Request,
    caller: Caller,
    charge: CallKind | null,
    handler: Handler,
  ): Promise<Ticket> {
    const { accountId, keyId, requestsPerMinute } = caller;
    const startedAtMs = performance.now();
    const rate = await rateLimiter.take(accountId, requestsPerMinute);
    if (!rate.admitted) {
      const refusal = failure('rate-limit-exceeded', `The account has ${rate.limit} requests per minute.`, {
        headers: { 'Retry-After': String(retryAfterS(rate)) },
      });
      return { rate, refusal };
    }
    if (performance.now() - startedAtMs > MAX_WAIT_MS) {
      return { rate, refusal: overloaded() };
    }
    let handle: ReturnType<Handler>;
    try {
      handle = handler(request);
    } catch (error) {
      log.bug(error, 'a handler failed to begin');
      return { rate, refusal: failure('internal-error', undefined, { cause: error }) };
    }
    if (charge === null) return { rate, refusal: null, handle, directoryIndex: null };
    try {
      const admission = await credits.admit({ accountId, keyId, kind: charge, signal: request.signal });
      return admission.admitted
        ? { rate, refusal: null, handle, directoryIndex: null }
        : { rate, refusal: quotaExceeded(admission) };
    } catch (cause) {
      return { rate, refusal: unavailable('The credits of the account could not be counted.', cause) };
    }
  }

  return { answer, answerAs };
}

function quotaExceeded({ limit, resetAt, retryAfterS }: Extract<Admission, { admitted: false }>): Answer {
  const reset = resetAt.toISOString();
  return failure('monthly-quota-exceeded', `The included credits are there again at ${reset}.`, {
    members: { quota: 'monthly_credits', limit, reset },
    headers: { 'Retry-After': String(retryAfterS) },
  });
}

function overloaded(): Answer {
  return unavailable('The service is overloaded.');
}

function unavailable(detail: string, cause?: unknown): Answer {
  return failure('service-unavailable', detail, { headers: { 'Retry-After': '1' }, cause });
}

function withHeaders(answer: Answer, headers: Record<string, string>): Answer {
  const target = answer.ok ? answer : answer.problem;
  target.headers = target.headers === undefined ? headers : { ...headers, ...target.headers };
  return answer;
}
