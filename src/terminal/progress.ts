import { messageOf, RefusedError } from '../errors.ts';
import { SECOND } from '../units.ts';
import { createEstimate, type Step } from './estimate.ts';
import { printable } from './text.ts';

/** Shows the progress of long work on stderr, because stdout is for answers (contract, Command line). */
export interface Progress {
  /** Sets the steps of the whole work. Lines then show the number of the phase and the time left of all steps. */
  plan(steps: readonly Step[]): void;
  /** Begins the next phase and ends the one before, e.g. `reading names.csv`. */
  phase(name: string, unit?: string): void;
  /**
   * @param done units so far, in this phase
   * @param fraction the part of the phase that is done, 0 to 1; `null` means that it is not known, as on a pipe
   */
  update(done: number, fraction: number | null): void;
  /** The progress in one line, e.g. for a process that waits for this one; `null` before the first phase and after the last. */
  describe(): string | null;
  /** One line that stays, e.g. a warning. */
  note(line: string): void;
  /** Ends the last phase, at 100% if a fraction is shown. */
  finish(): void;
  /** Ends the last phase at its present fraction, after a failure or an interruption. Does nothing after `finish`. */
  end(): void;
}

export interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

const REDRAW_MS = 100;
const PLAIN_LINE_MS = 5 * SECOND;
/** A plain line is late by this at most. */
const PLAIN_TICK_MS = 0.5 * SECOND;
const BAR_WIDTH = 12;
const CLEAR_LINE = '\r\u001b[K';

/**
 * A bar with count, rate and time left on a terminal, redrawn ten times a second; elsewhere a plain line every five
 * seconds. A phase that ends before it was shown leaves one line on a terminal and none elsewhere.
 *
 * A timer keeps the line moving while nothing is reported, as when Postgres builds an index.
 */
export function showProgress(
  stream: ProgressStream = process.stderr,
  now: () => number = Date.now,
): Progress {
  const isTerminal = stream.isTTY === true;
  let current: {
    name: string;
    unit: string;
    startedAt: number;
    done: number;
    fraction: number | null;
  } | null = null;
  let shownAt = 0;
  const estimate = createEstimate(now);

  const line = (withBar: boolean) => {
    const { name, unit, startedAt, done, fraction } = current!;
    const elapsedMs = now() - startedAt;
    const leftMs = estimate.leftMs(fraction);
    const parts = [];
    // The time comes first: a narrow terminal cuts the rest.
    if (leftMs !== null) parts.push(`${duration(leftMs)} left`);
    else if (elapsedMs >= SECOND) parts.push(duration(elapsedMs));
    if (done > 0) parts.push(`${count(done)} ${unit}`);
    if (done > 0 && elapsedMs >= SECOND) parts.push(`${count(Math.round((done / elapsedMs) * SECOND))}/s`);
    const share = fraction === null ? '' : ` ${withBar ? `${bar(fraction)} ` : ''}${percent(fraction)}`;
    return `${estimate.position()}${name}${share}${parts.length > 0 ? `  ${parts.join(', ')}` : ''}`;
  };
  const show = () => {
    if (current === null) return;
    shownAt = now();
    // A terminal of unknown width says 0 (`docker exec -t`, a serial line).
    if (isTerminal) stream.write(CLEAR_LINE + cut(line(true), (stream.columns || 80) - 1));
    else stream.write(`${line(false)}\n`);
  };
  // Called by the timer and by reports: a busy event loop delays the timer.
  const showIfDue = () => {
    if (now() - shownAt >= (isTerminal ? REDRAW_MS : PLAIN_LINE_MS)) show();
  };
  const timer = setInterval(showIfDue, isTerminal ? REDRAW_MS : PLAIN_TICK_MS);
  timer.unref();

  const endPhase = () => {
    if (current !== null && isTerminal) {
      show();
      stream.write('\n');
    }
    current = null;
  };
  const finishPhase = () => {
    if (current !== null && current.fraction !== null) current.fraction = 1;
    endPhase();
  };
  return {
    plan: estimate.plan,
    phase(name, unit = 'rows') {
      finishPhase();
      estimate.begin(name);
      current = { name: printable(name), unit, startedAt: now(), done: 0, fraction: null };
      shownAt = now();
      if (isTerminal) show();
    },
    update(done, fraction) {
      if (current === null) return;
      current.done = done;
      current.fraction = fraction === null ? null : Math.min(Math.max(fraction, 0), 1);
      showIfDue();
    },
    describe: () => (current === null ? null : line(false)),
    note(text) {
      if (isTerminal && current !== null) stream.write(CLEAR_LINE);
      stream.write(`${printable(text)}\n`);
      if (isTerminal) show();
    },
    finish() {
      clearInterval(timer);
      finishPhase();
    },
    end() {
      clearInterval(timer);
      endPhase();
    },
  };
}

/**
 * Runs long work and shows its progress on stderr. If it fails, the bar stays. An interruption is acknowledged at once, and
 * again at the end.
 * @param work fails with the signal's reason only if it has changed nothing
 */
export async function withProgress<T>(
  work: (progress: Progress) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const progress = showProgress();
  const sayStopping = () => progress.note('stopping (Ctrl-C once more ends it at once)');
  signal.addEventListener('abort', sayStopping);
  try {
    const answer = await work(progress);
    progress.finish();
    return answer;
  } catch (error) {
    if (signal.aborted && error === signal.reason) {
      throw new RefusedError(`${messageOf(error)}: nothing has changed`, { cause: error });
    }
    throw error;
  } finally {
    signal.removeEventListener('abort', sayStopping);
    progress.end();
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

function percent(fraction: number): string {
  return `${String(Math.floor(fraction * 100)).padStart(3)}%`;
}

function bar(fraction: number): string {
  const full = Math.round(fraction * BAR_WIDTH);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}]`;
}

function cut(text: string, width: number): string {
  return text.length > width ? text.slice(0, Math.max(width, 0)) : text;
}
