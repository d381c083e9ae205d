export interface Periodic {
  /** Runs it now; a run that is under way is shared. */
  run(): Promise<void>;
  /** No run begins by itself any more; waits for one that is under way. */
  stop(): Promise<void>;
}

/**
 * Runs a task every so often until it is stopped. Never two at once.
 * @param task sees to its own failures: nobody waits for most of its runs
 */
export function repeat(task: () => Promise<void>, everyMs: number): Periodic {
  let running: Promise<void> | null = null;

  const run = () => {
    running ??= task().finally(() => {
      running = null;
    });
    return running;
  };

  const timer = setInterval(() => void run(), everyMs);
  timer.unref();
  return {
    run,
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
