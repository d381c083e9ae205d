/** Waiting for what happens by itself. */
import { expect } from 'bun:test';

/** Reads until it is `enough` or the time is up. @returns what was read last */
export async function poll<T>(
  read: () => T | Promise<T>,
  isEnough: (seen: T) => boolean,
  timeoutMs = 5000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const seen = await read();
    if (isEnough(seen) || performance.now() > deadline) return seen;
    await Bun.sleep(10);
  }
}

/** @throws an Error that says `what` did not come */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 5000,
): Promise<void> {
  if (!(await poll(condition, Boolean, timeoutMs))) throw new Error(`${what}: not within ${timeoutMs} ms`);
}

/** Waits until what is read is as expected; the failure shows what was read instead. */
export async function eventually<T>(read: () => Promise<T>, expected: T, timeoutMs = 5000): Promise<void> {
  const seen = await poll(read, (seen) => Bun.deepEquals(seen, expected), timeoutMs);
  expect(seen as unknown).toEqual(expected);
}
