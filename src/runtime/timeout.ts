/** A dependency did not answer in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';

  constructor(what: string, timeoutMs: number) {
    super(`${what} did not answer within ${timeoutMs} ms`);
  }
}

/** Too much is asked of this process: a queue is full, or an answer could not be read in time. */
export class OverloadedError extends Error {
  override readonly name = 'OverloadedError';
}

interface Cancellable<T> extends PromiseLike<T> {
  /** postgres.js: null as long as the query waits for a connection. */
  state?: unknown;
  cancel?: () => unknown;
}

/** Takes a query out of the client's queue if `signal` aborts before it was sent: nobody waits for its answer. */
export function cancelUnsent<Query extends Cancellable<unknown>>(query: Query, signal: AbortSignal): Query {
  signal.addEventListener('abort', () => {
    if (query.state === null) query.cancel?.();
  });
  return query;
}

/**
 * The outcome of `work`, or a {@link TimeoutError} after `timeoutMs`; an {@link OverloadedError} if this process was too busy
 * to read the answer by then. An answer that arrived while the event loop was blocked counts as on time.
 *
 * A frozen server leaves the promises of postgres.js unsettled until its connection is given up. A query that still waits
 * for a connection is taken out of the client's queue, so that a hung server gathers no backlog. Therefore pass the query
 * itself and read its rows afterwards: a promise hides it.
 */
export function withTimeout<T>(work: Cancellable<T>, timeoutMs: number, what: string): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeoutAfterIo((isBusy) => {
      const late = `${what} answered while this process was busy, or not at all`;
      reject(isBusy ? new OverloadedError(late) : new TimeoutError(what, timeoutMs));
      if (work.state === null) work.cancel?.();
    }, timeoutMs);
    const settle =
      <Value>(end: (value: Value) => void) =>
      (value: Value) => {
        clearTimeout(timer);
        end(value);
      };
    work.then(settle<T>(resolve), settle<unknown>(reject));
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
