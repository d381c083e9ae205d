import { SECOND } from '../units.ts';
import { type Bound, OverloadedError, withTimeout } from './timeout.ts';

/** Counters of the batches of one stage. */
export interface BatchTotals {
  batches: number;
  items: number;
  /** Time in flight. */
  runMs: number;
}

/** By stage, of this process since it started. */
export const BATCH_TOTALS = new Map<string, BatchTotals>();

export interface BatchOptions {
  /** The dependency that answers, for error messages. */
  name: string;
  /** The label under which `/metrics` counts its batches; absent means that they are not counted. */
  stage?: string;
  /** Items in one batch at most. */
  maxBatch?: number;
  /** Batches in flight at once. Meanwhile items queue for the next. */
  maxConcurrentBatches?: number;
  /** An item that has queued for longer fails with an {@link OverloadedError} instead of starting. */
  queueTimeoutMs?: number;
  /** A batch that takes longer fails, and so does each of its items. */
  timeoutMs?: number;
}

/** Together the 2 s after which a caller is answered: a quarter in the queue, the rest in a batch. */
export const QUEUE_TIMEOUT_MS = 0.5 * SECOND;
export const BATCH_TIMEOUT_MS = 1.5 * SECOND;

/**
 * A batch starts in the middle of a turn of the event loop that takes longer than this. With thousands of readable
 * sockets, Bun reads up to 49,152 requests in one turn, which takes seconds.
 */
const LONGEST_TURN_MS = 10;

/**
 * Turns single items into batches. A batch starts at the end of the turn of the event loop. It starts earlier when it is full, or its
 * oldest item is older than {@link LONGEST_TURN_MS}. While `maxConcurrentBatches` are in flight, items queue, so
 * batches grow with the load and a lone item waits for nothing.
 *
 * @param run answers all items in their order. Its failure is the failure of each. It passes its queries through `bound`
 *   ({@link withTimeout}).
 */
export function createBatcher<Item, Result>(
  run: (items: Item[], bound: Bound) => Promise<Result[]>,
  {
    name,
    stage,
    maxBatch = 500,
    maxConcurrentBatches = 1,
    queueTimeoutMs = QUEUE_TIMEOUT_MS,
    timeoutMs = BATCH_TIMEOUT_MS,
  }: BatchOptions,
): (item: Item) => Promise<Result> {
  const totals = BATCH_TOTALS.get(stage ?? '') ?? { batches: 0, items: 0, runMs: 0 };
  if (stage !== undefined) BATCH_TOTALS.set(stage, totals);
  type Queued = PromiseWithResolvers<Result> & { item: Item; queuedAtMs: number };
  const queue: Queued[] = [];
  let inFlight = 0;
  let isScheduled = false;

  const isOverdue = (nowMs: number) => queue.length > 0 && nowMs - queue[0]!.queuedAtMs > LONGEST_TURN_MS;

  function startAtEndOfTurn(): void {
    if (isScheduled || inFlight >= maxConcurrentBatches || queue.length === 0) return;
    isScheduled = true;
    setImmediate(start);
  }

  function start(): void {
    isScheduled = false;
    const nowMs = performance.now();
    const oldestMs = nowMs - queueTimeoutMs;
    const fresh = queue.findIndex(({ queuedAtMs }) => queuedAtMs >= oldestMs);
    const stale = queue.splice(0, fresh < 0 ? queue.length : fresh);
    for (const { reject } of stale) reject(new OverloadedError(`queued too long for ${name}`));
    while (inFlight < maxConcurrentBatches && queue.length > 0) {
      void settle(queue.splice(0, maxBatch));
    }
  }

  async function settle(batch: Queued[]): Promise<void> {
    inFlight += 1;
    const startedAtMs = performance.now();
    totals.batches += 1;
    totals.items += batch.length;
    let isAnswered = false;
    try {
      const items = batch.map(({ item }) => item);
      const results = await withTimeout((bound) => run(items, bound), timeoutMs, name);
      for (let index = 0; index < batch.length; index += 1) batch[index]!.resolve(results[index] as Result);
      isAnswered = true;
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      inFlight -= 1;
      totals.runMs += performance.now() - startedAtMs;
      // A turn that refuses everything is long, and brings no item that would start the next batch. After a failure the
      // callers come first: they may want to leave the dependency alone.
      if (isAnswered && isOverdue(performance.now())) start();
      else startAtEndOfTurn();
    }
  }

  return (item) => {
    const queued = { item, queuedAtMs: performance.now(), ...Promise.withResolvers<Result>() };
    queue.push(queued);
    const isDue = queue.length >= maxBatch || isOverdue(queued.queuedAtMs);
    if (isDue && inFlight < maxConcurrentBatches) start();
    else startAtEndOfTurn();
    return queued.promise;
  };
}
