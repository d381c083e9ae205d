import { OverloadedError } from '../../runtime/timeout.ts';

export interface GateLimits {
  /** Tasks in flight at most. */
  maxRunning: number;
  /** Tasks that may wait for their turn; further ones are refused at once. */
  maxWaiting: number;
  /** A task that waits longer for its turn is refused. */
  maxWaitMs: number;
  /** Tasks of one client at most, in flight and waiting together. */
  maxOfOne: number;
}

/** Bounds the tasks in flight, so that the dashboard leaves the process to the API. */
export function createGate({ maxRunning, maxWaiting, maxWaitMs, maxOfOne }: GateLimits) {
  let running = 0;
  const waiting = new Set<() => void>();
  /** Tasks in flight and waiting. */
  const tasksOf = new Map<string, number>();

  function turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        waiting.delete(begin);
        settle();
      };
      const begin = () => end(resolve);
      const timer = setTimeout(
        () => end(() => reject(new OverloadedError('waited too long for its turn'))),
        maxWaitMs,
      );
      waiting.add(begin);
    });
  }

  /** Hands the place to the task that has waited longest. */
  function handOver(): void {
    const [next] = waiting;
    if (next === undefined) running -= 1;
    else next();
  }

  return {
    /**
     * Runs a task when fewer than `maxRunning` are in flight, in the order in which they came. A task can `leave` before its
     * end, if its rest needs no bound.
     *
     * @throws OverloadedError when too many wait, or the turn does not come in time
     */
    async run<T>(client: string, task: (leave: () => void) => Promise<T>): Promise<T> {
      const own = tasksOf.get(client) ?? 0;
      if (own >= maxOfOne || (running >= maxRunning && waiting.size >= maxWaiting)) {
        throw new OverloadedError('too many requests wait for their turn');
      }
      tasksOf.set(client, own + 1);
      let leave = () => {};
      try {
        if (running < maxRunning) running += 1;
        else await turn();
        leave = () => {
          leave = () => {};
          handOver();
        };
        return await task(() => leave());
      } finally {
        leave();
        const left = tasksOf.get(client)! - 1;
        if (left === 0) tasksOf.delete(client);
        else tasksOf.set(client, left);
      }
    },
  };
}
