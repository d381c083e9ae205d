import { type Cancellable, NoAnswerError, withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';
import type { Sql } from './connect.ts';

/** Of three hosts, two that don't answer are tried in this time, and the third connects. */
const CONNECT_MS = 5 * SECOND;

/**
 * Opens a connection for questions that have to be answered at once. A silent connection is replaced, because a new one may find
 * the next host. The kernel would keep the old one for a quarter of an hour.
 * @param connect opens a pool of one connection
 */
export function openAsker(connect: () => Sql) {
  let sql = connect();
  let openedAtMs = performance.now();
  let hasAnswered = false;
  let hasEnded = false;

  function replace(): void {
    void sql.end({ timeout: 0 });
    sql = connect();
    openedAtMs = performance.now();
    hasAnswered = false;
  }

  return {
    /** Closes the connection. The next question makes another one, which may find another host. */
    replace,
    /** @throws NoAnswerError after `timeoutMs`, and the errors of Postgres and its client */
    async ask<T>(question: (sql: Sql) => Cancellable<T>, timeoutMs: number): Promise<T> {
      try {
        const answer = await withTimeout(question(sql), timeoutMs, 'Postgres');
        hasAnswered = true;
        return answer;
      } catch (error) {
        const isDue = hasAnswered || performance.now() - openedAtMs > CONNECT_MS;
        if (error instanceof NoAnswerError && isDue && !hasEnded) replace();
        throw error;
      }
    },
    end(timeoutS: number): Promise<void> {
      hasEnded = true;
      return sql.end({ timeout: timeoutS });
    },
  };
}
