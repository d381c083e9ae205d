export type Periodic = ReturnType<typeof startInterval>;

/**
 * Runs a task at an interval until it is stopped. Never two runs at once.
 * @param onFailed called when a run fails and the one before did not, so that an outage is logged once. Without it the task
 *   handles its own failures, because nothing awaits most of its runs
 */
export function startInterval(
  task: () => Promise<void>,
  everyMs: number,
  onFailed?: (error: unknown) => void,
) {
  let running: Promise<void> | null = null;
  let isFailing = false;

  async function runTask(): Promise<void> {
    try {
      await task();
      isFailing = false;
    } catch (error) {
      if (onFailed === undefined) throw error;
      if (!isFailing) onFailed(error);
      isFailing = true;
    }
  }

  const run = () => {
    running ??= runTask().finally(() => {
      running = null;
    });
    return running;
  };

  const timer = setInterval(() => void run(), everyMs);
  timer.unref();
  return {
    /** Runs the task now, or shares the run in flight. */
    run,
    /** Starts no more runs, and waits for the one in flight. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await running;
    },
  };
}
