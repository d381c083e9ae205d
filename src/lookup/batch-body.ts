import { readBody } from '../http/body.ts';
import { parseUntrusted } from '../runtime/json.ts';
import { KIB, SECOND } from '../units.ts';
import { MAX_NIFS } from './batch-schema.ts';

const MAX_BATCH_BYTES = 64 * KIB;
/** A hundred NIFs are one packet; a slower sender only holds a connection. */
const BATCH_BODY_TIMEOUT_MS = 10 * SECOND;

/**
 * The NIFs of a request, as they stand in its body.
 *
 * @param stopping aborted when the service stops
 * @returns `invalid` for a body that is no list of 1 to 100 strings or can't be read (contract: batch lookup), `unread` when the
 *   client has left or the service stops
 */
export async function readNifs(
  request: Request,
  stopping: AbortSignal,
  timeoutMs = BATCH_BODY_TIMEOUT_MS,
): Promise<string[] | 'invalid' | 'unread'> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) return 'invalid';
  const body = await readBody(request, { maxBytes: MAX_BATCH_BYTES, timeoutMs, stopping });
  if (typeof body !== 'string') return nifsOf(body);
  return body === 'gone' || body === 'stopping' ? 'unread' : 'invalid';
}

function nifsOf(body: Buffer): string[] | 'invalid' {
  const parsed = parse(body) as { nifs?: unknown } | null;
  const nifs = parsed?.nifs;
  if (!Array.isArray(nifs) || nifs.length === 0 || nifs.length > MAX_NIFS) return 'invalid';
  return nifs.every((nif) => typeof nif === 'string') ? nifs : 'invalid';
}

function parse(body: Buffer): unknown {
  try {
    return parseUntrusted(body);
  } catch {
    // Not UTF-8, not JSON, or nested too deeply.
    return null;
  }
}
