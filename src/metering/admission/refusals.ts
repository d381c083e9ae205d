/** The answers with which the pipeline ends a request before its handler, and the RateLimit headers of every answer. */

import { type Answer, OVERLOADED, type ProblemAnswer, problem, unavailable } from '../../http/answer.ts';
import { SECOND } from '../../platform/units.ts';
import type { Quota } from '../credits/call.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';

/** The answer to a request that an overloaded service refuses. */
export const overloaded = () => unavailable(OVERLOADED);

/** The same for every token that is no valid key (contract: 401). */
const NO_VALID_KEY = 'The key is unknown, revoked or expired, or its account is suspended.';

const NO_KEY =
  'The header Authorization is missing or has another form. It looks so: Authorization: Bearer svc_…';

export function unauthorized(detail = NO_VALID_KEY): Answer {
  return problem('unauthorized', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

/** The answer to a request without a token of the scheme Bearer. */
export const noKey = () => unauthorized(NO_KEY);

export function rateLimitExceeded(rate: RateDecision): ProblemAnswer {
  const waitS = retryAfterS(rate);
  // Clients of agents show the body alone.
  const detail = `The account has ${rate.limit} requests per minute. The next one is possible in ${waitS} s.`;
  return problem('rate-limit-exceeded', detail, {
    headers: { ...rateLimitHeaders(rate), 'Retry-After': String(waitS) },
  });
}

/** @param buy the address where the account buys credits; `null` if there is none */
export function quotaExceeded({ limit, resetAt, retryAfterS }: Quota, buy: string | null): ProblemAnswer {
  const reset = new Date(resetAt).toISOString();
  return problem('monthly-quota-exceeded', `The included credits are available again at ${reset}.`, {
    ...(buy !== null && { buy }),
    members: { quota: 'monthly_credits', limit, reset },
    headers: { 'Retry-After': String(retryAfterS) },
  });
}

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
