import { type Cancellable, withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';

const ANSWER_TIMEOUT_MS = 2 * SECOND;

/** The answer to a short query. @throws NoAnswerError after 2 s, and the errors of Postgres and its client */
export function answerOf<T>(query: Cancellable<T>): Promise<T> {
  return withTimeout(query, ANSWER_TIMEOUT_MS, 'Postgres');
}

/** Options of a batcher that reads: two batches in flight, so that one silent connection doesn't delay every request. */
export const READS = { name: 'Postgres', maxConcurrentBatches: 2 } as const;
