export interface Periodic {
  /** Runs the task now, or shares the run in flight. */
  run(): Promise<void>;
  /** Starts no more runs, and waits for the one in flight. */
  stop(): Promise<void>;
}

/**
 * Runs a task at an interval until it is stopped. Never two runs at once.
 * @param task handles its own failures, because nothing awaits most of its runs
 */
export function startInterval(task: () => Promise<void>, everyMs: number): Periodic {
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
