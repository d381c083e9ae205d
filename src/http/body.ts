import { setTimeoutAfterIo } from '../runtime/timeout.ts';

/** The reason why the body of a request was not read. */
export type Unread =
  | 'too large'
  | 'too slow'
  /** The sender closed the connection, or Bun itself answers: 400 for a malformed body, 413 for one that is too large for it. */
  | 'gone'
  /** The service stops. */
  | 'stopping';

export interface BodyLimits {
  maxBytes: number;
  /** For the whole body. */
  timeoutMs: number;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/**
 * Reads the body of a request within its limits. It never throws and never waits longer, even if the sender is slow or
 * leaves. An incomplete body is dropped.
 *
 * A body in chunks that is too large is read on, and its rest dropped. If it gets too large for Bun, Bun answers 413 in place of
 * whatever the caller answers. So the caller must not charge for it: the body is `gone`.
 */
export async function readBody(
  request: Request,
  { maxBytes, timeoutMs, stopping }: BodyLimits,
): Promise<Buffer | Unread> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return 'too large';
  if (request.body === null) return Buffer.alloc(0);

  const reader = request.body.getReader();
  let unread: Unread | null = null;
  // Ends a pending read, too.
  const giveUp = (reason: Unread) => {
    unread ??= reason;
    void reader.cancel().catch(() => {});
  };
  const onStop = () => giveUp('stopping');
  const timer = setTimeoutAfterIo(() => giveUp('too slow'), timeoutMs);
  stopping.addEventListener('abort', onStop);
  if (stopping.aborted) onStop();
  try {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    while (unread === null) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.length;
      if (bytes <= maxBytes) chunks.push(value);
    }
    return unread ?? (bytes > maxBytes ? 'too large' : Buffer.concat(chunks));
  } catch {
    return unread ?? 'gone';
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', onStop);
  }
}
