/** A dependency did not answer in time. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(what: string, timeoutMs: number) {
    super(`${what} did not answer within ${timeoutMs} ms`);
  }
}

interface Cancellable<T> extends PromiseLike<T> {
  /** postgres.js: null as long as the query waits for a connection. */
  state?: unknown;
  cancel?: () => unknown;
}

/**
 * The outcome of `work`, or a {@link DeadlineError} after `timeoutMs`.
 *
 * A frozen server leaves the promises of postgres.js unsettled until the connection is given up, seconds later or never
 * (src/postgres/connect.ts). A query that still waits for a connection is taken out of the queue, so that a hung server
 * gathers no backlog; one that was sent is left alone, since cancelling it would open one more connection to a server
 * that doesn't answer.
 *
 * An answer that has arrived while this process was busy is read before its time is up: whoever was late was not the other.
 */
export function within<T>(work: Cancellable<T>, timeoutMs: number, what: string): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const expire = () => {
      reject(new DeadlineError(what, timeoutMs));
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

/** A timer that is over only when what had arrived by then has been read. */
export function afterwards(task: () => void, afterMs: number): ReturnType<typeof setTimeout> {
  // Between the two, Bun reads what has arrived.
  return setTimeout(() => setImmediate(() => setImmediate(task)), afterMs);
}
