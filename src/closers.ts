import { within } from './deadline.ts';
import { SECOND } from './units.ts';

/** Things to close. One that fails or hangs keeps none of the others open. */
export interface Closers {
  add(what: string, close: () => Promise<unknown>): void;
  /** Closes everything in the reverse order of its opening, for what was opened on what came before it. */
  close(): Promise<void>;
  /** Closes everything at once, for what needs nothing of each other. */
  closeAtOnce(): Promise<void>;
}

/** Either way of closing takes no longer, whatever hangs: whoever stops the process has a last moment for it, too. */
export const CLOSE_TIMEOUT_MS = 6 * SECOND;
/** Of it, for one of several that are closed in turn. */
const ONE_TIMEOUT_MS = 5 * SECOND;

export function createClosers(
  onFailed: (what: string, error: unknown) => void = () => {},
  timeoutMs = CLOSE_TIMEOUT_MS,
): Closers {
  type Entry = { what: string; close: () => Promise<unknown> };
  const open: Entry[] = [];

  async function closeOne({ what, close }: Entry, oneTimeoutMs: number): Promise<void> {
    await within(close(), oneTimeoutMs, `closing ${what}`).catch((error) => onFailed(what, error));
  }

  return {
    add(what, close) {
      open.push({ what, close });
    },
    async close() {
      const untilMs = performance.now() + timeoutMs;
      for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
        await closeOne(entry, Math.min(ONE_TIMEOUT_MS, Math.max(0, untilMs - performance.now())));
      }
    },
    async closeAtOnce() {
      await Promise.all(open.splice(0).map((entry) => closeOne(entry, timeoutMs)));
    },
  };
}
