import { afterwards, lateness, OverloadedError } from './deadline.ts';

export interface BatchOptions<Item> {
  /** Items in one run at most. */
  maxBatch: number;
  /** Runs under way at once. While that many are, items gather for the next. */
  maxRuns: number;
  /** Items that may wait; more are refused with an `OverloadedError`. */
  maxWaiting: number;
  /** Whoever asked is told after this long, as by `within`, whether the item still waits or is in a run. */
  timeoutMs: number;
  /** What did not answer then. */
  what: string;
  /** When an item came, of `performance.now()`, where that was before it came here. */
  sinceMsOf?: (item: Item) => number;
}

/**
 * Under a crowd Bun reads up to 49,152 requests in one turn of the event loop, which takes it seconds: nothing that waits
 * for the end of such a turn may wait longer than this.
 */
const LONGEST_TURN_MS = 10;

/** Runs of all batchers that begin at the end of this turn, and since when the first of them has waited. */
let starts: (() => void)[] = [];
let startsSinceMs = 0;

function atEndOfTurn(start: () => void): void {
  if (starts.push(start) > 1) return;
  startsSinceMs = performance.now();
  setImmediate(beginStarts);
}

function beginStarts(): void {
  const begun = starts;
  starts = [];
  for (const start of begun) start();
}

/** Called again and again in a long turn: begins the runs that would otherwise wait for its end. */
export function beginOverdueRuns(): void {
  if (starts.length > 0 && performance.now() - startsSinceMs > LONGEST_TURN_MS) beginStarts();
}

/**
 * Turns many single questions into few runs: what arrives in one turn of the event loop goes into one run. An item on
 * an idle batcher starts at the end of its turn and waits for no company; under load, items gather while the runs
 * before them are under way, so that batches grow just as far as the load asks.
 *
 * @param run answers all items, in their order; when it fails, all of them fail
 */
export function createBatcher<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  { maxBatch, maxRuns, maxWaiting, timeoutMs, what, sinceMsOf = () => performance.now() }: BatchOptions<Item>,
): (item: Item) => Promise<Result> {
  type Asked = {
    item: Item;
    sinceMs: number;
    resolve: (result: Result) => void;
    reject: (error: unknown) => void;
    isLate: boolean;
  };
  let waiting: Asked[] = [];
  const running = new Set<Asked[]>();
  let scheduled = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let watchedMs = Number.POSITIVE_INFINITY;

  function schedule(): void {
    if (scheduled || running.size >= maxRuns || waiting.length === 0) return;
    scheduled = true;
    atEndOfTurn(() => {
      scheduled = false;
      dropStale();
      while (running.size < maxRuns && waiting.length > 0) void start();
    });
  }

  /** Whoever could have been run before and was not has waited for this process: nobody is run too late. */
  function dropStale(): void {
    const oldestMs = performance.now() - timeoutMs;
    if (!waiting.some(({ sinceMs }) => sinceMs < oldestMs)) return;
    for (const { sinceMs, reject } of waiting) {
      if (sinceMs < oldestMs) reject(new OverloadedError('waited too long'));
    }
    waiting = waiting.filter(({ sinceMs }) => sinceMs >= oldestMs);
  }

  async function start(): Promise<void> {
    const batch = waiting.length <= maxBatch ? waiting : waiting.slice(0, maxBatch);
    waiting = waiting.length <= maxBatch ? [] : waiting.slice(maxBatch);
    running.add(batch);
    try {
      const results = await run(batch.map(({ item }) => item));
      for (let index = 0; index < batch.length; index += 1) batch[index]!.resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      running.delete(batch);
      schedule();
    }
  }

  /** One timer for all: each request had several. */
  function watch(atMs: number): void {
    if (atMs >= watchedMs) return;
    clearTimeout(timer);
    watchedMs = atMs;
    timer = afterwards(expire, Math.max(0, atMs - performance.now()));
    timer.unref();
  }

  /** Tells everybody who has asked too long ago. */
  function expire(isBusy: boolean): void {
    const now = performance.now();
    watchedMs = Number.POSITIVE_INFINITY;
    for (const asked of [...waiting, ...[...running].flat()]) {
      const untilMs = asked.sinceMs + timeoutMs;
      if (asked.isLate) continue;
      if (untilMs > now) watch(untilMs);
      else {
        asked.isLate = true;
        asked.reject(lateness(what, timeoutMs, isBusy));
      }
    }
    waiting = waiting.filter(({ isLate }) => !isLate);
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      if (waiting.length >= maxWaiting) {
        reject(new OverloadedError('too much is waiting'));
        return;
      }
      const sinceMs = sinceMsOf(item);
      waiting.push({ item, sinceMs, resolve, reject, isLate: false });
      watch(sinceMs + timeoutMs);
      schedule();
    });
}
