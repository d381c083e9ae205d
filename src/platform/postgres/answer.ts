import { type Cancellable, withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';

const ANSWER_TIMEOUT_MS = 2 * SECOND;

/** The answer to a short query. @throws NoAnswerError after 2 s, and the errors of Postgres and its client */
export function answerOf<T>(query: Cancellable<T>): Promise<T> {
  return withTimeout(query, ANSWER_TIMEOUT_MS, 'Postgres');
}

/**
 * The row of a statement that always answers one, e.g. a count, a charge, or a row that is locked.
 * @throws Error for no row or several, which would otherwise be read as "nothing" (`undefined`)
 */
export function only<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1)
    throw new Error(`Postgres answered ${rows.length} rows instead of one`);
  return row;
}

/** Options of a batcher that reads: two batches in flight, so that one silent connection doesn't delay every request. */
export const READS = { name: 'Postgres', maxConcurrentBatches: 2 } as const;
