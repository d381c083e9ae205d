import { createHash } from 'node:crypto';
import { IDEMPOTENCY_KEY } from '../../http/api-route.ts';
import { pathOf, searchOf } from '../../http/url.ts';

const KEY = new RegExp(IDEMPOTENCY_KEY);

export const INVALID_KEY = 'Idempotency-Key is not 1 to 64 letters of A to Z, a to z, 0 to 9, "_" and "-".';

/**
 * Identifies a request with an `Idempotency-Key` (contract), so that it is charged once, however often it is sent.
 *
 * @param sent beside the path, as it was sent; `undefined` means that the endpoint takes no such key
 * @returns `undefined` without the header, and `null` if it is not valid
 */
export function identityOf({ headers, url }: Request, accountId: string, sent?: string | Uint8Array) {
  const key = sent === undefined ? null : headers.get('idempotency-key');
  if (key === null) return undefined;
  if (!KEY.test(key)) return null;
  return createHash('sha256')
    .update(`${accountId}\n${key}\n${pathOf(url)}${searchOf(url)}\n`)
    .update(sent!)
    .digest('hex');
}
