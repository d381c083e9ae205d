/** Too much is asked of this process: an item queued too long, or an answer could not be read in time. */
export class OverloadedError extends Error {
  override readonly name = 'OverloadedError';
}

/** A dependency was asked in good time, and gave no answer. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

export interface Cancellable<T> extends PromiseLike<T> {
  /** postgres.js: null as long as the query waits for a connection. */
  state?: unknown;
  cancel?: () => unknown;
}

/** The outcome of work, or the error of the deadline. */
export type Bound = <T>(work: Cancellable<T>) => Promise<T>;

/**
 * The outcome of `work`, or a {@link NoAnswerError} after `timeoutMs`; an {@link OverloadedError} if this process was too busy to read the
 * answer by then. An answer that arrived while the event loop was blocked counts as on time.
 *
 * A frozen server leaves the promises of postgres.js unsettled until its connection is given up. A query that still waits
 * for a connection is taken out of the client's queue, so that a hung server gathers no backlog. Therefore pass the query
 * itself and read its rows afterwards: a promise hides it. Work of several queries is a function that passes each through
 * `bound`; they fail at the moment at which the whole does.
 */
export function withTimeout<T>(
  work: Cancellable<T> | ((bound: Bound) => Promise<T>),
  timeoutMs: number,
  what: string,
): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const bounded: Cancellable<unknown>[] = [];
  const timer = setTimeoutAfterIo((isBusy) => {
    if (isBusy) reject(new OverloadedError(`${what} answered while this process was busy, or not at all`));
    else reject(new NoAnswerError(`${what} did not answer within ${Math.round(timeoutMs)} ms`));
    for (const query of bounded) if (query.state === null) query.cancel?.();
  }, timeoutMs);
  const bound: Bound = (work) => {
    bounded.push(work);
    return Promise.race([work, deadline]);
  };
  return bound(typeof work === 'function' ? work(bound) : work).finally(() => clearTimeout(timer));
}

/** A timer that is late by more shows that the event loop was blocked. */
const BUSY_MS = 250;

/**
 * A timer that fires only after the answers that had arrived by then were read.
 * @param task gets whether the event loop was blocked
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
