/** The queue of a batcher is full: whoever asks is better told so at once. */
export class OverloadedError extends Error {
  override readonly name = 'OverloadedError';
}

export interface BatchOptions {
  /** Items in one run at most. */
  maxBatch: number;
  /** Runs under way at once. While that many are, items gather for the next. */
  maxRuns: number;
  /** Items that may wait; more are refused with an {@link OverloadedError}. */
  maxWaiting: number;
  /** An item that has waited longer is not run any more: whoever asked has given up. */
  maxWaitMs: number;
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
  { maxBatch, maxRuns, maxWaiting, maxWaitMs }: BatchOptions,
): (item: Item) => Promise<Result> {
  type Waiting = {
    item: Item;
    sinceMs: number;
    resolve: (result: Result) => void;
    reject: (error: unknown) => void;
  };
  let waiting: Waiting[] = [];
  let runs = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || runs >= maxRuns || waiting.length === 0) return;
    scheduled = true;
    atEndOfTurn(() => {
      scheduled = false;
      dropStale();
      while (runs < maxRuns && waiting.length > 0) void start();
    });
  }

  function dropStale(): void {
    const oldestMs = performance.now() - maxWaitMs;
    let stale = 0;
    while (stale < waiting.length && waiting[stale]!.sinceMs < oldestMs) stale += 1;
    if (stale === 0) return;
    for (const { reject } of waiting.splice(0, stale)) reject(new OverloadedError('waited too long'));
  }

  async function start(): Promise<void> {
    const batch = waiting.length <= maxBatch ? waiting : waiting.slice(0, maxBatch);
    waiting = waiting.length <= maxBatch ? [] : waiting.slice(maxBatch);
    runs += 1;
    try {
      const results = await run(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      runs -= 1;
      schedule();
    }
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      if (waiting.length >= maxWaiting) {
        reject(new OverloadedError('too much is waiting'));
        return;
      }
      waiting.push({ item, sinceMs: performance.now(), resolve, reject });
      schedule();
    });
}
