/** When a request is refused at once because this process has more to do than it can do in time. */
import type { CallKind } from '../../http/call-kind.ts';
import { SECOND } from '../../platform/units.ts';

/**
 * Requests expected to wait longer than this are refused immediately and cost nothing. Queueing them would slow everyone down and
 * charge for answers that arrive too late to be useful.
 */
const MAX_EXPECTED_WAIT_MS = 0.3 * SECOND;

/** The load of this process, as far as a request has to wait for it. */
export function createLoad() {
  const turns = createTurnDelay();
  // The two queues that can grow: for the admission, and for the directory's search. A lookup that waits for a source
  // says nothing about how busy this process is.
  const admissions = createQueueDelay();
  const searches = createQueueDelay();

  return {
    /** A request was read. */
    read: turns.read,
    admissions,
    searches,
    /** Whether a request is to be refused now. @param charge the kind of call that it pays for; `null` means none */
    isOverloaded(charge: CallKind | null): boolean {
      const waitsForSearch = charge === 'search' || charge === 'match';
      const searchMs = waitsForSearch ? searches.estimateMs() : 0;
      return turns.estimateMs() + admissions.estimateMs() + searchMs > MAX_EXPECTED_WAIT_MS;
    },
  };
}

/** Fewer requests than this are no queue: their completion rate shows only how few requests came. */
const MIN_RUNNING = 64;
const WINDOW_MS = 0.25 * SECOND;
/** Assumed completions per ms until the first window is measured. Lets a burst of about 1,000 in, but not of 10,000. */
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

/** A turn that reads fewer requests is no overload, however long it takes, because a slow machine takes long for a burst, too. */
const MIN_REQUESTS = 256;

/**
 * The expected wait of an admitted request, in turns as long as the present one. The request waited in its socket, and so will the
 * answers about its token and its credit, while turns still grow. Measured: with 3 fewer were served, and later.
 */
const TURNS_OF_A_REQUEST = 6;

/**
 * Estimates how long a request waits until this process reads sockets: its own, and those of the stores.
 *
 * A turn of the event loop goes on while more than 1,024 sockets are readable. Answers of Redis and Postgres wait among the
 * requests meanwhile, in the order of arrival. A turn that gets longer shows that more arrives than this process can do. Refusing
 * until it is short again keeps both waits short.
 *
 * @param nowMs a monotonic clock @param atEndOfTurn both for tests
 */
export function createTurnDelay(
  nowMs = () => performance.now(),
  atEndOfTurn: (end: () => void) => unknown = setImmediate,
) {
  let requests = 0;
  let startMs = 0;
  const end = () => {
    requests = 0;
  };
  return {
    /** A request was read. */
    read(): void {
      requests += 1;
      if (requests > 1) return;
      startMs = nowMs();
      atEndOfTurn(end);
    },
    estimateMs: (): number => (requests > MIN_REQUESTS ? TURNS_OF_A_REQUEST * (nowMs() - startMs) : 0),
  };
}
