import type { Closers } from './closers.ts';

/**
 * Runs a task every so often until the closers close, which waits for a run that is under way. Never two at once.
 * @returns runs it now; a run that is under way is shared
 */
export function repeat(
  task: () => Promise<void>,
  everyMs: number,
  what: string,
  closers: Closers,
): () => Promise<void> {
  let running: Promise<void> | null = null;

  const run = () => {
    running ??= task().finally(() => {
      running = null;
    });
    return running;
  };

  const timer = setInterval(() => void run(), everyMs);
  timer.unref();
  closers.add(what, async () => {
    clearInterval(timer);
    await running;
  });
  return run;
}
