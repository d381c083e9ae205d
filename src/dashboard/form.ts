import { afterwards } from '../deadline.ts';
import { KIB, SECOND } from '../units.ts';

const MAX_FORM_BYTES = 16 * KIB;
/** For the whole body. A form is a packet or two; a slower sender only holds a connection. */
const FORM_TIMEOUT_MS = 10 * SECOND;

/** Why the form of a request was not read. */
export type Unread =
  | 'not a form'
  | 'too large'
  | 'too slow'
  /** The sender closed the connection, or its body is broken; Bun itself answers a broken one 400. */
  | 'gone'
  /** The service stops. */
  | 'stopping';

/**
 * Reads the form of a request: at most 16 KiB, within ten seconds, and not beyond a stop of the service. It never throws
 * because of what a sender does.
 *
 * @param stopping aborted when the service stops
 */
export async function readForm(
  request: Request,
  stopping: AbortSignal,
  timeoutMs = FORM_TIMEOUT_MS,
): Promise<URLSearchParams | Unread> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded')) return 'not a form';
  if (Number(request.headers.get('content-length') ?? 0) > MAX_FORM_BYTES) return 'too large';
  if (request.body === null) return new URLSearchParams();

  const reader = request.body.getReader();
  let unread: Unread | null = null;
  // Ends a pending read, too.
  const giveUp = (reason: Unread) => {
    unread ??= reason;
    void reader.cancel().catch(() => {});
  };
  const onStop = () => giveUp('stopping');
  const timer = afterwards(() => giveUp('too slow'), timeoutMs);
  stopping.addEventListener('abort', onStop);
  if (stopping.aborted) onStop();
  try {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    while (unread === null) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      bytes += value.length;
      if (bytes > MAX_FORM_BYTES) giveUp('too large');
    }
    return unread ?? new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return unread ?? 'gone';
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', onStop);
  }
}
