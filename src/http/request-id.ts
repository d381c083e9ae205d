import { randomUUID } from 'node:crypto';
import { mayHoldSecret } from '../observability/redaction.ts';

/** Short and plain, so that it can be printed anywhere. */
const ACCEPTABLE = /^[A-Za-z0-9._-]{1,64}$/;

/** The caller's `X-Request-Id` if it is short, plain and no key; otherwise a new one. Every log line has it. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  const isAcceptable = given !== null && ACCEPTABLE.test(given) && !mayHoldSecret(given);
  return isAcceptable ? given : randomUUID();
}
