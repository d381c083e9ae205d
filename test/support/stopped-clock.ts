import { spyOn } from 'bun:test';

/**
 * Stops `performance.now`, by which the service measures its own waits, so that a busy machine changes none of them. Timers
 * go on. Call `restore` when the test is over.
 */
export function stopClock(): { pass(ms: number): void; restore(): void } {
  let nowMs = performance.now();
  const now = spyOn(performance, 'now').mockImplementation(() => nowMs);
  return {
    pass: (ms) => {
      nowMs += ms;
    },
    restore: () => now.mockRestore(),
  };
}

/** Starts `work` as in one turn of the event loop, however slow the machine is: what it asks for shares its batches. */
export async function inOneTurn<T>(work: () => Promise<T>): Promise<T> {
  const clock = stopClock();
  try {
    return await work();
  } finally {
    clock.restore();
  }
}
