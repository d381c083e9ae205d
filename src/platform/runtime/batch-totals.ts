/** Counters of the batches of one stage. */
export interface BatchTotals {
  batches: number;
  items: number;
  /** Time in flight. */
  runMs: number;
  /** Time in which items waited though a batch could have started. */
  gapMs: number;
  /** When a batch ended last, by `performance.now()`. */
  endedAtMs: number;
}

export const noBatches = (): BatchTotals => ({ batches: 0, items: 0, runMs: 0, gapMs: 0, endedAtMs: 0 });

/** Counts a batch that starts now. @returns a function to call when it ends */
export function countBatch(totals: BatchTotals, items: number, waitingSinceMs: number): () => void {
  const startedAtMs = performance.now();
  totals.batches += 1;
  totals.items += items;
  // Never less than 0, because metrics refuse a counter that falls: tests move the clock that all stages share.
  totals.gapMs += Math.max(0, startedAtMs - Math.max(totals.endedAtMs, waitingSinceMs));
  return () => {
    totals.endedAtMs = performance.now();
    totals.runMs += totals.endedAtMs - startedAtMs;
  };
}

/** Of this process since it started, by stage. */
export const batchTotals = {
  bucket: noBatches(),
  key: noBatches(),
  credit: noBatches(),
  record: noBatches(),
  /** An item is the records of a batch lookup. */
  records: noBatches(),
  /** An item is the brackets of a list of companies. */
  debts: noBatches(),
  search: noBatches(),
  /** An item is a query for names by their words; of a search in Postgres, one of its steps. */
  match: noBatches(),
  /** The same among several of one request. */
  matches: noBatches(),
  usage: noBatches(),
};
