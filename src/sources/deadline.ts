import { SourceFault, type SourceName } from './types.ts';

/**
 * Gives a task `timeoutMs` for everything that it does (contract, PROVIDER_TIMEOUT_MS: for each provider, whole). Its signal is
 * aborted then, and the caller has SourceFault `timeout` at once, even when the task doesn't heed the signal.
 */
export async function withDeadline<T>(
  source: SourceName,
  timeoutMs: number,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    return await unlessAborted(source, controller.signal, task(controller.signal));
  } finally {
    clearTimeout(timer);
  }
}

/** The promise's outcome, or SourceFault `timeout` as soon as the signal is aborted. */
export function unlessAborted<T>(source: SourceName, signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new SourceFault(source, 'timeout'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const settled = () => signal.removeEventListener('abort', abort);
    promise.then(resolve, reject).finally(settled);
  });
}
