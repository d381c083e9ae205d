/** A call of a tool that the rate limit refuses, for clients that show a model results alone (two SDKs hide a problem over HTTP). */
import { readJson } from '../http/body.ts';
import { isObject } from '../platform/runtime/json.ts';
import { KIB, SECOND } from '../platform/units.ts';

/** The call has no token, so little is read of it: its id, from a body that is known to be short. */
const MAX_BYTES = 4 * KIB;
const TIMEOUT_MS = 2 * SECOND;

/** Whether the body is short enough to be read without a token, by its `Content-Length`. */
export function isShort({ headers }: Request): boolean {
  const length = headers.get('content-length');
  return length !== null && Number(length) <= MAX_BYTES;
}

/**
 * The id of the call that a message is; `null` means that it is another message, or can't be read.
 * @param stopping aborted when the service stops
 */
export async function callIdOf(request: Request, stopping: AbortSignal): Promise<string | number | null> {
  const body = await readJson(request, stopping, { timeoutMs: TIMEOUT_MS });
  if (body === 'unread' || !isObject(body.json)) return null;
  const { id, method } = body.json;
  return method === 'tools/call' && (typeof id === 'string' || typeof id === 'number') ? id : null;
}
