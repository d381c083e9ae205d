import { SECOND } from '../units.ts';

/** How busy one stage of the request path is. */
export interface Load {
  /** Something begins, and is under way until its `end`, whatever becomes of it. */
  begin(): void;
  end(): void;
  /** How long what would come now would wait, by what is under way and how fast it gets done. */
  expectedWaitMs(): number;
  readonly running: number;
}

/** Below this nothing is called a queue, and how fast things get done says only how few have come. */
const MIN_RUNNING = 64;
const WINDOW_MS = 0.25 * SECOND;
/**
 * What is taken to get done in a millisecond until a window has shown it: a thousand that come at once are all let in, and
 * not the ten thousand that a crowd of clients sends before the first of them is answered.
 */
const UNMEASURED_PER_MS = 4;
/** Weight of a window in which less got done than before, and of one in which nothing did. */
const FALLING = 0.1;
const STANDING = 0.75;

/**
 * Little's law: what is under way, divided by what can get done in a second, is how long the next one waits.
 *
 * What can get done is measured only while there is a queue: a quiet service gets little done because little comes. More
 * than was expected counts at once, less only bit by bit: where most of a crowd is refused, little gets done because the
 * refusals take the time, and whoever took that for all that can be done would refuse ever more. A window in which nothing
 * gets done at all is another matter, so that a stage that stands still (a hung dependency) shows within a second.
 *
 * @param nowMs a monotonic clock, for tests
 */
export function createLoad(nowMs = () => performance.now()): Load {
  let running = 0;
  let done = 0;
  let windowStartMs = 0;
  let ratePerMs = UNMEASURED_PER_MS;

  function beginQueue(): void {
    windowStartMs = nowMs();
    done = 0;
    // Whatever stood still has moved since.
    ratePerMs = Math.max(ratePerMs, UNMEASURED_PER_MS);
  }

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
    begin() {
      running += 1;
      if (running === MIN_RUNNING) beginQueue();
    },
    end() {
      running -= 1;
      done += 1;
    },
    expectedWaitMs() {
      if (running < MIN_RUNNING) return 0;
      closeWindow();
      return running / ratePerMs;
    },
    get running() {
      return running;
    },
  };
}
