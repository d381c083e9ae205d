/** The answers with which the pipeline ends a request before its handler, and the RateLimit headers of every answer. */
import { failureAnswer, type ProblemAnswer, problem, unavailable } from '../../http/answer.ts';
import type { Right } from '../../http/right.ts';
import { SECOND } from '../../platform/units.ts';
import type { Quota, SpentBudget } from '../credits/call.ts';
import { StillUnderWayError } from '../credits/claim.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';

/** The answer to a request with an `Idempotency-Key` that was not claimed. */
export function notClaimed(cause: unknown): ProblemAnswer {
  if (!(cause instanceof StillUnderWayError))
    return failureAnswer(
      cause,
      unavailable('Whether the request was charged before could not be read.', cause),
    );
  return problem('service-unavailable', 'Another sending with this Idempotency-Key is under way.', {
    reason: 'under-way',
    headers: { 'Retry-After': String(cause.retryAfterS) },
    cause,
  });
}

/** The same for every token that is no valid key (docs/api.md: 401). */
const NO_VALID_KEY = 'The key is unknown, revoked or expired, or its account is suspended.';

const NO_KEY =
  'The header Authorization is missing or has another form. It looks so: Authorization: Bearer svc_…';

export function unauthorized(detail = NO_VALID_KEY): ProblemAnswer {
  return problem('unauthorized', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

/** The answer to a request without a token of the scheme Bearer. */
export const noKey = () => unauthorized(NO_KEY);

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

export function rateLimitExceeded(rate: RateDecision): ProblemAnswer {
  const waitS = retryAfterS(rate);
  const { account = rate } = rate;
  const scope = account.waitUs === rate.waitUs ? 'account' : 'key';
  const has =
    scope === 'account'
      ? `The account has ${counted(account.limit, 'request')}`
      : `The key's share of the account's rate is ${counted(rate.limit, 'request')}`;
  // Clients of agents show the body alone.
  const detail = `${has} per minute. The next one is possible in ${waitS} s.`;
  return problem('rate-limit-exceeded', detail, {
    reason: `${scope}-rate`,
    members: { scope },
    headers: { ...rateLimitHeaders(rate), 'Retry-After': String(waitS) },
  });
}

/**
 * @param buy the address where the account buys credits; `null` if there is none
 * @param only the rights of the key: one that has some only sees nothing of its account
 */
export function quotaExceeded(
  { limit, resetAt, retryAfterS }: Quota,
  buy: string | null,
  only: Caller['only'],
): ProblemAnswer {
  const reset = new Date(resetAt).toISOString();
  const seesAccount = only === null;
  const detail =
    limit === 0 && seesAccount
      ? 'The account has no included credits.'
      : `The included credits are available again at ${reset}.`;
  return problem('monthly-quota-exceeded', detail, {
    ...(seesAccount && buy !== null && { buy }),
    members: { quota: 'monthly_credits', ...(seesAccount && { limit }), reset },
    headers: { 'Retry-After': String(retryAfterS) },
  });
}

/** The refusal of a key that has spent its budget. */
export function budgetExceeded({ credits, per, resetAt, retryAfterS }: SpentBudget): ProblemAnswer {
  const none = credits === 0 ? 'The credit limit of the key is 0: it can make free calls alone.' : null;
  if (resetAt === null)
    return problem('key-budget-spent', none ?? `The key has spent its ${counted(credits, 'credit')}.`);
  const reset = new Date(resetAt).toISOString();
  const detail = none ?? `The key has ${counted(credits, 'credit')} a ${per} (UTC), again at ${reset}.`;
  return problem('key-budget-exceeded', detail, {
    members: { reset },
    headers: { 'Retry-After': String(retryAfterS) },
  });
}

/** The refusal of a key that lacks a right. */
export const notPermitted = (right: Right): ProblemAnswer =>
  problem('not-permitted', `The key lacks the permission "${right}".`);

const US_PER_SECOND = SECOND * 1000;

/** The RateLimit headers of an authenticated answer (specification, Rate limit). */
export function rateLimitHeaders(decision: RateDecision): Record<string, string> {
  return {
    'RateLimit-Limit': String(decision.limit),
    'RateLimit-Remaining': String(decision.remaining),
    'RateLimit-Reset': String(Math.ceil((decision.nowUs + decision.waitUs) / US_PER_SECOND)),
    'RateLimit-Policy': `${decision.limit};w=60`,
  };
}

/** Whole seconds until a token is there, at least 1. */
export function retryAfterS(decision: RateDecision): number {
  return Math.max(1, Math.ceil(decision.waitUs / US_PER_SECOND));
}
