/** A dependency did not answer in time. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

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
 * The outcome of `work`, or a {@link DeadlineError} after `timeoutMs`; an {@link OverloadedError} where this process was too
 * busy to read the answer by then.
 *
 * A frozen server leaves the promises of postgres.js unsettled until the connection is given up, seconds later or never
 * (src/postgres/connect.ts). A query that still waits for a connection is taken out of the queue, so that a hung server
 * gathers no backlog; one that was sent is left alone, since cancelling it would open one more connection to a server
 * that doesn't answer. That is for `work` that is a query itself: what a promise awaits can't be seen from here, and runs
 * when the server is back. So hand in the query where there is one, and read its rows afterwards.
 *
 * An answer that has arrived while this process was busy is read before its time is up: whoever was late was not the other.
 */
export function within<T>(work: Cancellable<T>, timeoutMs: number, what: string): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const expire = (isBusy: boolean) => {
      reject(lateness(what, timeoutMs, isBusy));
      if (work.state === null) work.cancel?.();
    };
    const timer = afterwards(expire, timeoutMs);
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** A timer that is late by more says that the process was busy. */
const BUSY_MS = 250;

/**
 * A timer that is over only when what had arrived by then has been read.
 * @param task told whether it comes too late
 */
export function afterwards(task: (isBusy: boolean) => void, afterMs: number): ReturnType<typeof setTimeout> {
  const dueMs = performance.now() + afterMs;
  const run = () => task(performance.now() - dueMs > BUSY_MS);
  // Between the two, Bun reads what has arrived.
  return setTimeout(() => setImmediate(() => setImmediate(run)), afterMs);
}

/** Why there was no answer in time. */
function lateness(what: string, timeoutMs: number, isBusy: boolean): DeadlineError | OverloadedError {
  return isBusy
    ? new OverloadedError(`${what} answered while this process was busy, or not at all`)
    : new DeadlineError(what, timeoutMs);
}
