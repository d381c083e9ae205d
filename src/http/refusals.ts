/** The problems with which the pipeline ends a request before its handler. */
import type { Quota } from '../credits/calls.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';
import { type Answer, type ProblemAnswer, problem, unavailable } from './answer.ts';
import { retryAfterS } from './rate-limit-headers.ts';

/** The problem of a request that an overloaded service refuses. */
export const OVERLOADED = unavailable('The service is overloaded.').problem;

/** A copy, because the pipeline adds headers. */
export function overloaded(): ProblemAnswer {
  return { ok: false, problem: { ...OVERLOADED } };
}

export function unauthorized(): Answer {
  return problem('unauthorized', undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

export function rateLimitExceeded(rate: RateDecision): Answer {
  return problem('rate-limit-exceeded', `The account has ${rate.limit} requests per minute.`, {
    headers: { 'Retry-After': String(retryAfterS(rate)) },
  });
}

export function quotaExceeded({ limit, resetAt, retryAfterS }: Quota): ProblemAnswer {
  const reset = resetAt.toISOString();
  return problem('monthly-quota-exceeded', `The included credits are available again at ${reset}.`, {
    members: { quota: 'monthly_credits', limit, reset },
    headers: { 'Retry-After': String(retryAfterS) },
  });
}
