import { messageOf, RefusedError } from '../errors.ts';
import { SECOND } from '../units.ts';
import { printable } from './text.ts';

export type Progress = ReturnType<typeof showProgress>;

export interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

const REDRAW_MS = 100;
const PLAIN_LINE_MS = 5 * SECOND;
/** A phase must have run for this long before its pace says how long it takes. */
const ESTIMATE_AFTER_MS = 2 * SECOND;
const CLEAR_LINE = '\r\u001b[K';

/**
 * Shows the progress of long work on stderr, because stdout is for answers (docs/commands.md).
 *
 * A line with share, time left and count on a terminal, redrawn ten times a second; elsewhere one every five
 * seconds. A phase that ends before it was shown leaves one line on a terminal and none elsewhere.
 *
 * A timer keeps the line moving while nothing is reported, as when Postgres builds an index.
 */
export function showProgress(stream: ProgressStream = process.stderr, now: () => number = Date.now) {
  const isTerminal = stream.isTTY === true;
  const everyMs = isTerminal ? REDRAW_MS : PLAIN_LINE_MS;
  let current: { name: string; startedAt: number; done: number; fraction: number | null } | null = null;
  let shownAt = 0;
  /** The time left of the phase at its pace so far; `null` means that it is not known yet, or under a second. */
  const timeLeftMs = () => {
    const { startedAt, fraction } = current!;
    const elapsedMs = now() - startedAt;
    if (fraction === null || fraction === 0 || elapsedMs < ESTIMATE_AFTER_MS) return null;
    const leftMs = (elapsedMs / fraction) * (1 - fraction);
    return leftMs < SECOND ? null : leftMs;
  };
  const line = () => {
    const { name, startedAt, done, fraction } = current!;
    const elapsedMs = now() - startedAt;
    const leftMs = timeLeftMs();
    const parts = [];
    // The time comes first: a narrow terminal cuts the rest.
    if (leftMs !== null) parts.push(`${duration(leftMs)} left`);
    else if (elapsedMs >= SECOND) parts.push(duration(elapsedMs));
    if (done > 0) parts.push(`${count(done)} rows`);
    const share = fraction === null ? '' : ` ${String(Math.floor(fraction * 100)).padStart(3)}%`;
    return `${name}${share}${parts.length > 0 ? `  ${parts.join(', ')}` : ''}`;
  };
  const show = () => {
    if (current === null) return;
    shownAt = now();
    // A terminal of unknown width says 0 (`docker exec -t`, a serial line).
    if (isTerminal) stream.write(CLEAR_LINE + line().slice(0, (stream.columns || 80) - 1));
    else stream.write(`${line()}\n`);
  };
  // Called by the timer and by reports: a busy event loop delays the timer.
  const showIfDue = () => {
    if (now() - shownAt >= everyMs) show();
  };
  const timer = setInterval(showIfDue, Math.min(everyMs, SECOND));
  timer.unref();

  const endPhase = (isComplete: boolean) => {
    if (current !== null && isTerminal) {
      if (isComplete && current.fraction !== null) current.fraction = 1;
      show();
      stream.write('\n');
    }
    current = null;
  };
  return {
    /** Begins the next phase and ends the one before, e.g. `reading names.csv`. */
    phase(name: string): void {
      endPhase(true);
      current = { name: printable(name), startedAt: now(), done: 0, fraction: null };
      shownAt = now();
      if (isTerminal) show();
    },
    /**
     * @param done rows so far, in this phase
     * @param fraction the part of the phase that is done, 0 to 1; `null` means that it is not known, as on a pipe
     */
    update(done: number, fraction: number | null): void {
      if (current === null) return;
      current.done = done;
      current.fraction = fraction === null ? null : Math.min(Math.max(fraction, 0), 1);
      showIfDue();
    },
    /** One line that stays, e.g. a warning. */
    note(text: string): void {
      if (isTerminal && current !== null) stream.write(CLEAR_LINE);
      stream.write(`${printable(text)}\n`);
      if (isTerminal) show();
    },
    /** Ends the last phase: at 100% if the work is complete, else where it was. */
    end(isComplete: boolean): void {
      clearInterval(timer);
      endPhase(isComplete);
    },
  };
}

/**
 * Runs long work and shows its progress on stderr. If it fails, the line stays. An interruption is acknowledged at once, and
 * again at the end.
 * @param work fails with the signal's reason only if it has changed nothing
 */
export async function withProgress<T>(
  work: (progress: Progress) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const progress = showProgress();
  let isComplete = false;
  const sayStopping = () => progress.note('stopping (Ctrl-C once more ends it at once)');
  signal.addEventListener('abort', sayStopping);
  try {
    const answer = await work(progress);
    isComplete = true;
    return answer;
  } catch (error) {
    if (signal.aborted && error === signal.reason) {
      throw new RefusedError(`${messageOf(error)}: nothing has changed`, { cause: error });
    }
    throw error;
  } finally {
    signal.removeEventListener('abort', sayStopping);
    progress.end(isComplete);
  }
}

/** `1234567` as `1 234 567`. */
export function count(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
}

/** `75` seconds as `1 min 15 s`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
