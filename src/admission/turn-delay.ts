/** A turn that reads fewer requests is no crowd, however long it takes: a burst onto a slow machine is not an overload. */
const MIN_REQUESTS = 256;

/**
 * An admitted request is expected to wait this many times the present turn: it waited in its socket, and the answers about its
 * token and its credit will wait there, behind a crowd that is still growing. Measured: with 3 fewer were served, and later.
 */
const TURNS_OF_A_REQUEST = 6;

/**
 * Estimates how long a request waits until this process reads sockets: its own, and those of the stores.
 *
 * While more than 1,024 sockets are readable, a turn of the event loop goes on, and the answers of Redis and Postgres wait among
 * the requests, in the order of arrival. A turn that gets longer shows that more arrives than this process can do. Refusing
 * until it is short again keeps both waits short.
 *
 * @param nowMs a monotonic clock @param atEndOfTurn both for tests
 */
export function createTurnDelay(
  nowMs = () => performance.now(),
  atEndOfTurn: (end: () => void) => unknown = setImmediate,
) {
  let requests = 0;
  let startMs = 0;
  const end = () => {
    requests = 0;
  };
  return {
    /** A request was read. */
    read(): void {
      requests += 1;
      if (requests > 1) return;
      startMs = nowMs();
      atEndOfTurn(end);
    },
    estimateMs: (): number => (requests > MIN_REQUESTS ? TURNS_OF_A_REQUEST * (nowMs() - startMs) : 0),
  };
}
