import { readFileSync } from 'node:fs';

/** Under `bun run` one Ctrl-C arrives twice, from the terminal and from `bun run`. */
const SAME_KEYSTROKE_MS = 500;

/**
 * Aborts on Ctrl-C, SIGTERM and, but for `nohup`, the end of the terminal. A second one ends the process at once.
 *
 * @returns the signal, and `release`, which restores the process's own handling of them
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
  const names = ['SIGINT', 'SIGTERM', ...(ignoresHangUp() ? [] : ['SIGHUP'])];
  for (const name of names) process.on(name, interrupt);
  return {
    signal: controller.signal,
    release() {
      for (const name of names) process.off(name, interrupt);
    },
  };
}

/** Whether the process was started to outlive its terminal. Only Linux tells. */
function ignoresHangUp(): boolean {
  try {
    return /^SigIgn:.*[13579bdf]$/m.test(readFileSync('/proc/self/status', 'utf8'));
  } catch {
    return false;
  }
}
