import { OverloadedError } from '../deadline.ts';

export interface GateLimits {
  /** Tasks in flight at most. */
  maxRunning: number;
  /** Tasks that may wait for their turn; further ones are refused at once. */
  maxWaiting: number;
  /** A task whose turn has not come by then is refused. */
  maxWaitMs: number;
}

/**
 * Runs a task when fewer than `maxRunning` others are in flight, in the order in which they came. The task may `leave` before
 * its end, when what is left of it needs no bound.
 *
 * @throws OverloadedError when too many wait, or the turn does not come in time
 */
export type Gate = <T>(task: (leave: () => void) => Promise<T>) => Promise<T>;

export function createGate({ maxRunning, maxWaiting, maxWaitMs }: GateLimits): Gate {
  let running = 0;
  const waiting = new Set<() => void>();

  function turn(): Promise<void> {
    if (waiting.size >= maxWaiting) throw new OverloadedError('too many requests wait for their turn');
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        waiting.delete(begin);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(begin);
        reject(new OverloadedError('waited too long for its turn'));
      }, maxWaitMs);
      waiting.add(begin);
    });
  }

  /** Hands the place to the task that has waited longest. */
  function handOver(): void {
    const [next] = waiting;
    if (next === undefined) running -= 1;
    else next();
  }

  return async (task) => {
    if (running < maxRunning) running += 1;
    else await turn();
    let isInside = true;
    const leave = () => {
      if (isInside) handOver();
      isInside = false;
    };
    try {
      return await task(leave);
    } finally {
      leave();
    }
  };
}
