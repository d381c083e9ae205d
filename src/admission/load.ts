import { SECOND } from '../units.ts';

/** How busy one stage of the request path is. */
export interface Load {
  /** Runs the work, counted while it is under way. */
  track<T>(work: () => Promise<T>): Promise<T>;
  /** How long what would come now would wait, by what is under way and how fast it gets done. */
  expectedWaitMs(): number;
  readonly running: number;
}

/** Below this nothing is called a queue: a few slow answers say little of what the stage can do. */
const MIN_RUNNING = 64;
const WINDOW_MS = 0.1 * SECOND;
/** Weight of the newest window in the rate. */
const SMOOTHING = 0.3;

/**
 * Little's law: what is under way, divided by what gets done in a second, is how long the next one waits. The rate is a
 * moving average over windows of 100 ms, so that a stage that stands still (a hung dependency) shows within a second.
 *
 * @param nowMs a monotonic clock, for tests
 */
export function createLoad(nowMs = () => performance.now()): Load {
  let running = 0;
  let done = 0;
  let windowStartMs = nowMs();
  let ratePerMs: number | null = null;

  function closeWindow(): void {
    const elapsedMs = nowMs() - windowStartMs;
    if (elapsedMs < WINDOW_MS) return;
    const rate = done / elapsedMs;
    // One long quiet time weighs as many windows as it held.
    const weight = 1 - (1 - SMOOTHING) ** (elapsedMs / WINDOW_MS);
    ratePerMs = ratePerMs === null ? rate : ratePerMs + weight * (rate - ratePerMs);
    windowStartMs = nowMs();
    done = 0;
  }

  return {
    async track(work) {
      closeWindow();
      running += 1;
      try {
        return await work();
      } finally {
        running -= 1;
        done += 1;
        closeWindow();
      }
    },
    expectedWaitMs() {
      closeWindow();
      if (running < MIN_RUNNING || ratePerMs === null) return 0;
      return ratePerMs === 0 ? Number.POSITIVE_INFINITY : running / ratePerMs;
    },
    get running() {
      return running;
    },
  };
}
