import type { RateDecision } from '../rate-limit/bucket.ts';
import { SECOND } from '../units.ts';

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
