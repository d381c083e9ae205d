/**
 * A world in which a seed decides everything: time, random numbers and ids, and the order of events of the same instant. It replaces the
 * globals of this process for good, so nothing else may run in it.
 */

import { drainMicrotasks } from 'bun:jsc';
import { createRequire } from 'node:module';
import { seededRandom } from '../../../bench/lib/names.ts';

const nativeImmediate = setImmediate;
const NativeDate = Date;

/** A process of the service, whose timers and answers end with it. */
export interface Process {
  isAlive: boolean;
}

interface Event {
  atMs: number;
  process: Process | null;
  run: () => void;
}

export type Random = ReturnType<typeof createRandom>;

export function createRandom(seed: number) {
  const random = seededRandom(seed);
  return {
    random,
    /** A whole number below this one. */
    below: (end: number) => Math.floor(random() * end),
    chance: (share: number) => random() < share,
    one: <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!,
  };
}

let seeded = createRandom(0);
let epochMs = 0;
let nowMs = 0;
/** The process whose code runs; `null` means that it is the world itself. */
let current: Process | null = null;
let events: Event[] = [];
/** Real work that an event wants. The world stands still until it is done, and timers of that work are real. */
let awaited: (() => PromiseLike<unknown>) | null = null;
let isStill = true;

export const world = {
  get nowMs() {
    return nowMs;
  },
  get unixMs() {
    return epochMs + nowMs;
  },
  begin(seed: number, startMs: number): void {
    seeded = createRandom(seed);
    epochMs = startMs;
    nowMs = 0;
    current = null;
    events = [];
  },
  /** Runs later what belongs to a process, unless that has died by then. */
  after(delayMs: number, run: () => void, process: Process | null = current): Event {
    const event = { atMs: nowMs + Math.max(0, delayMs), process, run };
    events.push(event);
    return event;
  },
  /** Stops the time after the present event until real work is done. */
  waitFor(work: () => PromiseLike<unknown>): void {
    awaited = work;
  },
  uuid,
  /** Runs events until an instant, or until none is left. @throws Error after very many, because something runs forever */
  async run(untilMs: number, isDone: () => boolean = () => false): Promise<void> {
    // Outside of any promise: microtasks run only when this loop drains them.
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const loop = () => {
      isStill = false;
      try {
        for (let left = 2_000_000; ; left -= 1) {
          drainMicrotasks();
          if (awaited !== null) {
            const start = awaited;
            awaited = null;
            const goOn = () => void nativeImmediate(loop);
            isStill = true;
            start().then(goOn, goOn);
            return;
          }
          if (isDone() || !step(untilMs)) {
            isStill = true;
            return resolve();
          }
          if (left === 0) throw new Error('the history does not end');
        }
      } catch (error) {
        isStill = true;
        reject(error);
      }
    };
    nativeImmediate(loop);
    return promise;
  },
};

/** Runs one of the earliest events, by chance. @returns whether there was one */
function step(untilMs: number): boolean {
  let earliest = -1;
  let equal = 1;
  for (let index = 0; index < events.length; index += 1) {
    const { atMs } = events[index]!;
    if (earliest === -1 || atMs < events[earliest]!.atMs) {
      earliest = index;
      equal = 1;
    } else if (atMs === events[earliest]!.atMs) {
      equal += 1;
      if (seeded.below(equal) === 0) earliest = index;
    }
  }
  const event = events[earliest];
  if (event === undefined || event.atMs > untilMs) return false;
  events[earliest] = events.at(-1)!;
  events.pop();
  nowMs = event.atMs;
  if (event.process?.isAlive === false) return true;
  current = event.process;
  event.run();
  return true;
}

function cancel(event: unknown): void {
  const index = events.indexOf(event as Event);
  if (index === -1) return;
  events[index] = events.at(-1)!;
  events.pop();
}

/** Repeats until it is cancelled. */
function every(run: () => void, delayMs: number) {
  let next: Event;
  const repeat = () => {
    next = world.after(delayMs, repeat);
    run();
  };
  next = world.after(delayMs, repeat);
  const timer = { unref: () => timer, cancel: () => cancel(next) };
  return timer;
}

function uuid(): string {
  const hex = Array.from({ length: 4 }, () =>
    Math.floor(seeded.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

class SimulatedDate extends NativeDate {
  constructor(...given: [] | [number | string]) {
    if (given.length === 0) super(world.unixMs);
    else super(given[0]);
  }
  static override now = () => world.unixMs;
}

/** Replaces the clocks, the timers and the sources of chance of this process. While the world stands still, timers are real. */
export function replaceGlobals(): void {
  const real = {
    ...{ setTimeout, clearTimeout, setInterval, clearInterval, setImmediate },
    sleep: Bun.sleep,
  };
  const simulated = {
    setTimeout: (run: () => void, delayMs = 0) => world.after(delayMs, run),
    clearTimeout: cancel,
    setImmediate: (run: () => void) => world.after(0, run),
    setInterval: every,
    clearInterval: (timer: { cancel(): void } | undefined) => timer?.cancel(),
    sleep: (delayMs: number) => new Promise<void>((resolve) => void world.after(delayMs, resolve)),
  };
  const either = Object.fromEntries(
    Object.entries(simulated).map(([name, run]) => {
      const native = real[name as keyof typeof real] as (...args: unknown[]) => unknown;
      return [name, (...args: never[]) => (isStill ? native(...args) : (run as typeof native)(...args))];
    }),
  );
  const { sleep, ...timers } = either;
  Object.assign(globalThis, timers, { Date: SimulatedDate });
  performance.now = () => nowMs;
  Object.assign(Bun, { sleep });
  Object.assign(createRequire(import.meta.url)('node:crypto'), {
    randomUUID: uuid,
    randomBytes: (size: number) => Buffer.from(Array.from({ length: size }, () => seeded.below(256))),
  });
}
