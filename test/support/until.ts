/** Waiting for what happens by itself. */
import { expect } from 'bun:test';

/** The bound of every wait. On a quiet machine none takes a second, but on a busy one none may fail. */
const BOUND_MS = 20_000;

/** Reads until it is `enough` or the time is up. @returns what was read last */
export async function poll<T>(
  read: () => T | Promise<T>,
  isEnough: (seen: T) => boolean,
  timeoutMs = BOUND_MS,
): Promise<T> {
  // By a clock that no test stops (stopped-clock.ts).
  const startedAt = Bun.nanoseconds();
  for (;;) {
    const seen = await read();
    const waitedMs = (Bun.nanoseconds() - startedAt) / 1e6;
    if (isEnough(seen) || waitedMs > timeoutMs) return seen;
    // Seldom in a long wait, because each read costs CPU.
    await Bun.sleep(Math.min(10 + waitedMs / 10, 50));
  }
}

/** @throws an Error that says `what` did not come */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = BOUND_MS,
): Promise<void> {
  if (!(await poll(condition, Boolean, timeoutMs))) throw new Error(`${what}: not within ${timeoutMs} ms`);
}

/** Waits until what is read is as expected; the failure shows what was read instead. */
export async function eventually<T>(
  read: () => Promise<T>,
  expected: T,
  timeoutMs = BOUND_MS,
): Promise<void> {
  const seen = await poll(read, (seen) => Bun.deepEquals(seen, expected), timeoutMs);
  expect(seen as unknown).toEqual(expected);
}
