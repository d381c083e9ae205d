import { SECOND } from '../units.ts';
import { printable } from './text.ts';

/** Shows how far long work is. Everything goes to stderr: stdout is for answers (contract, Command line). */
export interface Progress {
  /** Begins the next phase and ends the one before, e.g. `reading names.csv`. */
  phase(name: string, unit?: string): void;
  /**
   * @param done units so far, in this phase
   * @param fraction how much of the phase's work that is, 0 to 1; null: not known, as on a pipe
   */
  update(done: number, fraction: number | null): void;
  /** One line that stays, e.g. a warning. */
  note(line: string): void;
  /** All work is done: ends the last phase, at 100% where that is shown. */
  finish(): void;
  /** Ends the last phase where it stands: the work failed or was interrupted. Does nothing after `finish`. */
  end(): void;
}

/** What progress is written to: process.stderr, or a stand-in. */
export interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

const REDRAW_MS = 100;
const PLAIN_LINE_MS = 5 * SECOND;
const BAR_WIDTH = 24;
/** Nothing is said about the time left before there is something to go by. */
const ESTIMATE_AFTER_MS = 2 * SECOND;
const CLEAR_LINE = '\r\u001b[K';

/**
 * A bar with count, rate and time left on a terminal, redrawn ten times a second; elsewhere a plain line every five
 * seconds. Phases that are over before they were shown leave one line on a terminal and none elsewhere.
 *
 * A timer keeps the line moving while nothing is reported (an index that is being built in Postgres), so that
 * one sees that it lives.
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

  const line = () => {
    const { name, unit, startedAt, done, fraction } = current!;
    const elapsedMs = now() - startedAt;
    const parts = [];
    if (done > 0) parts.push(`${count(done)} ${unit}`);
    if (done > 0 && elapsedMs >= SECOND) parts.push(`${count(Math.round((done / elapsedMs) * SECOND))}/s`);
    if (fraction !== null && fraction > 0 && elapsedMs >= ESTIMATE_AFTER_MS && fraction < 1) {
      parts.push(`${duration((elapsedMs / fraction) * (1 - fraction))} left`);
    } else if (elapsedMs >= SECOND) {
      parts.push(duration(elapsedMs));
    }
    const head =
      fraction === null ? name : `${name} ${isTerminal ? `${bar(fraction)} ` : ''}${percent(fraction)}`;
    return `${head}${parts.length > 0 ? `  ${parts.join(', ')}` : ''}`;
  };
  const show = () => {
    if (current === null) return;
    shownAt = now();
    // A terminal that doesn't know its width says 0 (`docker exec -t`, a serial line).
    if (isTerminal) stream.write(CLEAR_LINE + cut(line(), (stream.columns || 80) - 1));
    else stream.write(`${line()}\n`);
  };
  const timer = setInterval(show, isTerminal ? REDRAW_MS : PLAIN_LINE_MS);
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
    phase(name, unit = 'rows') {
      finishPhase();
      current = { name: printable(name), unit, startedAt: now(), done: 0, fraction: null };
      shownAt = now();
      if (isTerminal) show();
    },
    update(done, fraction) {
      if (current === null) return;
      current.done = done;
      current.fraction = fraction === null ? null : Math.min(Math.max(fraction, 0), 1);
      // A busy event loop can hold the timer up.
      if (now() - shownAt >= (isTerminal ? REDRAW_MS : PLAIN_LINE_MS)) show();
    },
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

/** Long work with its progress on stderr; where it fails, the bar stays at what was reached. */
export async function withProgress<T>(work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = showProgress();
  try {
    const answer = await work(progress);
    progress.finish();
    return answer;
  } finally {
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
