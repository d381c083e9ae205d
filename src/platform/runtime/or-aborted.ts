/**
 * The outcome of `wait`, or the signal's reason as soon as it aborts. So a command waits for a pipe, whose other end may never come,
 * and whose read, write and `open` nothing cancels. The abandoned wait keeps its thread until the end of the process.
 */
export function orAborted<T>(wait: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener('abort', giveUp);
  if (signal.aborted) giveUp();
  wait.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener('abort', giveUp));
}
