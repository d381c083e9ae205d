import { SECOND } from '../units.ts';

/** How busy one stage of the request path is. */
export interface Load {
  /** Runs the work, counted while it is under way. */
  track<T>(work: () => Promise<T>): Promise<T>;
  /** How long what would come now would wait, by what is under way and how fast it gets done. */
  expectedWaitMs(): number;
  readonly running: number;
}

/** Below this nothing is called a queue, and how fast things get done says only how few have come. */
const MIN_RUNNING = 64;
const WINDOW_MS = 0.25 * SECOND;
/** Weight of the newest window in the rate. */
const SMOOTHING = 0.5;

/**
 * Little's law: what is under way, divided by what gets done in a second, is how long the next one waits.
 *
 * The rate is measured only while there is a queue: a quiet service gets little done because little comes, not because
 * it can't, and the first burst after it must not be refused. It is a moving average over windows of 250 ms, so that
 * a stage that stands still (a hung dependency) shows within a second.
 *
 * @param nowMs a monotonic clock, for tests
 */
export function createLoad(nowMs = () => performance.now()): Load {
  let running = 0;
  let done = 0;
  let windowStartMs = 0;
  /** null: there is no queue, or only since a moment ago. */
  let ratePerMs: number | null = null;

  function beginQueue(): void {
    windowStartMs = nowMs();
    done = 0;
    ratePerMs = null;
  }

  function closeWindow(): void {
    const elapsedMs = nowMs() - windowStartMs;
    if (elapsedMs < WINDOW_MS) return;
    const rate = done / elapsedMs;
    // A long window weighs as many short ones as it held.
    const weight = 1 - (1 - SMOOTHING) ** (elapsedMs / WINDOW_MS);
    ratePerMs = ratePerMs === null ? rate : ratePerMs + weight * (rate - ratePerMs);
    windowStartMs = nowMs();
    done = 0;
  }

  return {
    async track(work) {
      running += 1;
      if (running === MIN_RUNNING) beginQueue();
      try {
        return await work();
      } finally {
        running -= 1;
        done += 1;
      }
    },
    expectedWaitMs() {
      if (running < MIN_RUNNING) return 0;
      closeWindow();
      if (ratePerMs === null) return 0;
      return ratePerMs === 0 ? Number.POSITIVE_INFINITY : running / ratePerMs;
    },
    get running() {
      return running;
    },
  };
}
