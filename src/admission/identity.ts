import { createHash } from 'node:crypto';
import { IDEMPOTENCY_KEY } from '../http/api-route.ts';
import { pathOf, searchOf } from '../http/url.ts';

const KEY = new RegExp(IDEMPOTENCY_KEY);

export const INVALID_KEY = 'Idempotency-Key is not 1 to 64 letters of A to Z, a to z, 0 to 9, "_" and "-".';

/**
 * Identifies a request with an `Idempotency-Key` (contract), so that it is charged once, however often it is sent.
 *
 * @param body as it was sent
 * @returns `undefined` without the header, and `null` if it is not valid
 */
export function identityOf({ headers, url }: Request, accountId: string, body: string | Uint8Array) {
  const key = headers.get('idempotency-key');
  if (key === null) return undefined;
  if (!KEY.test(key)) return null;
  return createHash('sha256')
    .update(`${accountId}\n${key}\n${pathOf(url)}${searchOf(url)}\n`)
    .update(body)
    .digest('hex');
}
