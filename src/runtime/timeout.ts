/** Too much is asked of this process: a queue is full, or an answer could not be read in time. */
export class OverloadedError extends Error {
  override readonly name = 'OverloadedError';
}

interface Cancellable<T> extends PromiseLike<T> {
  /** postgres.js: null as long as the query waits for a connection. */
  state?: unknown;
  cancel?: () => unknown;
}

/**
 * The outcome of `work`, or an error after `timeoutMs`; an {@link OverloadedError} if this process was too busy to read the
 * answer by then. An answer that arrived while the event loop was blocked counts as on time.
 *
 * A frozen server leaves the promises of postgres.js unsettled until its connection is given up. A query that still waits
 * for a connection is taken out of the client's queue, so that a hung server gathers no backlog. Therefore pass the query
 * itself and read its rows afterwards: a promise hides it.
 */
export function withTimeout<T>(work: Cancellable<T>, timeoutMs: number, what: string): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeoutAfterIo((isBusy) => {
      if (isBusy) reject(new OverloadedError(`${what} answered while this process was busy, or not at all`));
      else reject(new Error(`${what} did not answer within ${Math.round(timeoutMs)} ms`));
      if (work.state === null) work.cancel?.();
    }, timeoutMs);
    work.then(resolve, reject).then(() => clearTimeout(timer));
  });
}

/** A timer that is late by more shows that the event loop was blocked. */
const BUSY_MS = 250;

/**
 * A timer that fires only after the answers that had arrived by then were read.
 * @param task told whether the event loop was blocked
 */
export function setTimeoutAfterIo(
  task: (isBusy: boolean) => void,
  afterMs: number,
): ReturnType<typeof setTimeout> {
  const dueMs = performance.now() + afterMs;
  const run = () => task(performance.now() - dueMs > BUSY_MS);
  // Bun reads sockets between the two.
  return setTimeout(() => setImmediate(() => setImmediate(run)), afterMs);
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
