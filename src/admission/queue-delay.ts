import { SECOND } from '../units.ts';

/** Fewer requests than this are no queue: their completion rate shows only how few requests came. */
const MIN_RUNNING = 64;
const WINDOW_MS = 0.25 * SECOND;
/** Assumed completions per ms until the first window is measured. Admits a burst of about 1,000, but not of 10,000. */
const UNMEASURED_PER_MS = 4;
/** Weight of a window with fewer completions than expected, and of a window with none. */
const FALLING = 0.1;
const STANDING = 0.75;

/**
 * Estimates a queue's delay by Little's law: requests in the stage, divided by its completion rate.
 *
 * The rate is measured only while there is a queue: an idle service completes little because little arrives. The estimate
 * rises at once and falls slowly. While shedding, completions drop because refusing takes CPU; trusting that drop would
 * shed more and more. A window without any completion weighs more, so that a hung dependency shows within a second.
 *
 * @param nowMs a monotonic clock, for tests
 */
export function createQueueDelay(nowMs = () => performance.now()) {
  let running = 0;
  let done = 0;
  let windowStartMs = 0;
  let ratePerMs = UNMEASURED_PER_MS;

  function closeWindow(): void {
    const elapsedMs = nowMs() - windowStartMs;
    if (elapsedMs < WINDOW_MS) return;
    const rate = done / elapsedMs;
    // A long window weighs as many short ones as it held.
    const weight = 1 - (1 - (done === 0 ? STANDING : FALLING)) ** (elapsedMs / WINDOW_MS);
    ratePerMs = Math.max(rate, ratePerMs + weight * (rate - ratePerMs));
    windowStartMs = nowMs();
    done = 0;
  }

  return {
    /** A request enters the stage; it leaves with `leave`, whatever its outcome. */
    enter(): void {
      running += 1;
      if (running !== MIN_RUNNING) return;
      windowStartMs = nowMs();
      done = 0;
      // The stage has drained since the last window, so a stall is over.
      ratePerMs = Math.max(ratePerMs, UNMEASURED_PER_MS);
    },
    leave(): void {
      running -= 1;
      done += 1;
    },
    /** The expected wait of a request that enters now: requests in the stage divided by its rate. */
    estimateMs(): number {
      if (running < MIN_RUNNING) return 0;
      closeWindow();
      return running / ratePerMs;
    },
  };
}
