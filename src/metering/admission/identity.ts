import { createHash } from 'node:crypto';
import { IDEMPOTENCY_KEY } from '../../http/api-route.ts';

const KEY = new RegExp(IDEMPOTENCY_KEY);

export const INVALID_KEY = 'Idempotency-Key is not 1 to 64 letters of A to Z, a to z, 0 to 9, "_" and "-".';

/**
 * The `Idempotency-Key` of a request (docs/api.md: Idempotency-Key). @returns `undefined` without the header, and `null`
 * if it is not valid
 */
export function keyOf(headers: Headers): string | null | undefined {
  const key = headers.get('idempotency-key');
  if (key === null) return undefined;
  return KEY.test(key) ? key : null;
}

/**
 * Identifies a request with an `Idempotency-Key`, so that it is charged once, however often it is sent.
 *
 * @param address path and query, as they were sent
 * @param sent beside them: the body, or a tool's name and arguments
 */
export function identityOf(accountId: string, key: string, address: string, sent: string | Uint8Array) {
  return createHash('sha256').update(`${accountId}\n${key}\n${address}\n`).update(sent).digest('hex');
}
