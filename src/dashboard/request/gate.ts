import { OverloadedError } from '../../runtime/timeout.ts';

export interface GateLimits {
  /** Tasks in flight at most. */
  maxRunning: number;
  /** Tasks that may wait for their turn; further ones are refused at once. */
  maxWaiting: number;
  /** A task whose turn has not come by then is refused. */
  maxWaitMs: number;
  /** Tasks of one client at most, in flight and waiting together. */
  maxOfOne: number;
}

export interface Gate {
  /** Whether a further task of the client would be refused. */
  isFullFor(client: string): boolean;
  /**
   * Runs a task when fewer than `maxRunning` others are in flight, in the order in which they came. The task may `leave` before
   * its end, when what is left of it needs no bound.
   *
   * @param client whom the task is for
   * @throws OverloadedError when too many wait, or the turn does not come in time
   */
  run<T>(client: string, task: (leave: () => void) => Promise<T>): Promise<T>;
}

export function createGate({ maxRunning, maxWaiting, maxWaitMs, maxOfOne }: GateLimits): Gate {
  let running = 0;
  const waiting = new Set<() => void>();
  /** Tasks in flight and waiting. */
  const tasksOf = new Map<string, number>();

  function turn(): Promise<void> {
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

  function isFullFor(client: string): boolean {
    if ((tasksOf.get(client) ?? 0) >= maxOfOne) return true;
    return running >= maxRunning && waiting.size >= maxWaiting;
  }

  function count(client: string, change: 1 | -1): void {
    const tasks = (tasksOf.get(client) ?? 0) + change;
    if (tasks === 0) tasksOf.delete(client);
    else tasksOf.set(client, tasks);
  }

  async function runInside<T>(task: (leave: () => void) => Promise<T>): Promise<T> {
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
  }

  return {
    isFullFor,
    async run(client, task) {
      if (isFullFor(client)) throw new OverloadedError('too many requests wait for their turn');
      count(client, 1);
      try {
        return await runInside(task);
      } finally {
        count(client, -1);
      }
    },
  };
}
