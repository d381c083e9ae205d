import { randomUUID } from 'node:crypto';

/** Short and plain: what can be printed anywhere and found again. */
const ACCEPTABLE = /^[A-Za-z0-9._-]{1,64}$/;

/** The caller's `X-Request-Id` if it is short and plain, otherwise a new one. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && ACCEPTABLE.test(given) ? given : randomUUID();
}
