import { SECOND } from '../units.ts';
import { withTimeout } from './timeout.ts';

export type Cleanup = ReturnType<typeof createCleanup>;

/** Each way of closing takes at most this long, even if resources hang. */
export const CLOSE_TIMEOUT_MS = 6 * SECOND;
/** Of that, the bound of one resource when they are closed in turn. */
const ONE_TIMEOUT_MS = 5 * SECOND;

/**
 * Running requests may take this long to finish after a stop, because they are paid for. Longer ones must not delay a
 * deployment.
 */
export const DRAIN_TIMEOUT_MS = 10 * SECOND;

/**
 * The longest stop, if all stores hang: from the closing of the port (`SHUTDOWN_DELAY_S` after the signal) through requests,
 * background work and connections to the end. A batch of credits in doubt may use the time that the others leave. A supervisor
 * has to wait longer before it kills the service (docs/operating.md, Health, metrics, logs; `stop_grace_period` in
 * docker-compose.yml).
 */
export const LONGEST_STOP_MS = DRAIN_TIMEOUT_MS + 2 * CLOSE_TIMEOUT_MS;

/** Resources to close at shutdown. A failing or hanging resource does not block the others. */
export function createCleanup(
  onFailed: (what: string, error: unknown) => void = () => {},
  timeoutMs = CLOSE_TIMEOUT_MS,
) {
  type Entry = { what: string; close: () => Promise<unknown> };
  const open: Entry[] = [];

  async function closeOne({ what, close }: Entry, oneTimeoutMs: number): Promise<void> {
    await withTimeout(Promise.try(close), oneTimeoutMs, `closing ${what}`).catch((error) =>
      onFailed(what, error),
    );
  }

  return {
    add(what: string, close: () => Promise<unknown>): void {
      open.push({ what, close });
    },
    /** Closes in the reverse order of opening, because a resource may use those opened before it. */
    async runInReverse(): Promise<void> {
      const untilMs = performance.now() + timeoutMs;
      for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
        await closeOne(entry, Math.min(ONE_TIMEOUT_MS, Math.max(0, untilMs - performance.now())));
      }
    },
    /** Closes everything at once, for resources that don't use each other. */
    async runInParallel(): Promise<void> {
      await Promise.all(open.splice(0).map((entry) => closeOne(entry, timeoutMs)));
    },
  };
}
