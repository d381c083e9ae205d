/** Under `bun run` one Ctrl-C arrives twice, from the terminal and from `bun run`. */
const SAME_KEYSTROKE_MS = 500;

/**
 * Aborts on Ctrl-C and SIGTERM. A second one ends the process at once.
 *
 * @returns the signal, and `release`, which restores the process's own handling of both
 */
export function watchInterrupts(reason?: Error): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  let firstAtMs = 0;
  const interrupt = () => {
    if (!controller.signal.aborted) {
      firstAtMs = performance.now();
      controller.abort(reason);
    } else if (performance.now() - firstAtMs > SAME_KEYSTROKE_MS) process.exit(130);
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return {
    signal: controller.signal,
    release() {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', interrupt);
    },
  };
}
