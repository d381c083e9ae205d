/** Counters of the batches of one stage. */
export interface BatchTotals {
  batches: number;
  items: number;
  /** Time in flight. */
  runMs: number;
  /** Time in which items waited though a batch could have started. */
  gapMs: number;
}

export const noBatches = (): BatchTotals => ({ batches: 0, items: 0, runMs: 0, gapMs: 0 });

/** Of this process since it started, by stage. */
export const batchTotals = {
  bucket: noBatches(),
  key: noBatches(),
  credit: noBatches(),
  record: noBatches(),
  search: noBatches(),
  usage: noBatches(),
};
