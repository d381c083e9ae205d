import { startInterval } from '../runtime/interval.ts';
import { type Cancellable, NoAnswerError, OverloadedError, withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';
import type { Sql } from './connect.ts';

/** Of three hosts, two that don't answer are tried in this time, and the third connects. */
const CONNECT_MS = 5 * SECOND;

export type Canary = ReturnType<typeof startCanary>;

interface Questions<Answer> {
  ask(sql: Sql): Cancellable<Answer>;
  everyMs: number;
  /** For the answer to a question. Two questions are never under way at once. */
  timeoutMs: number;
  onAnswer(answer: Answer): void;
  /** Not called if this process was too busy to read the answer, because that says nothing about Postgres. */
  onFailure(error: unknown): void;
}

/**
 * Asks Postgres a short question at an interval, over a connection of its own. A silent connection is replaced, because a new one may
 * find the next host. The kernel would keep the old one for a quarter of an hour.
 * @param connect opens a pool of one connection
 */
export function startCanary<Answer>(
  connect: () => Sql,
  { ask, everyMs, timeoutMs, onAnswer, onFailure }: Questions<Answer>,
) {
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

  async function askOnce(): Promise<void> {
    try {
      const answer = await withTimeout(ask(sql), timeoutMs, 'Postgres');
      hasAnswered = true;
      onAnswer(answer);
    } catch (error) {
      const isDue = hasAnswered || performance.now() - openedAtMs > CONNECT_MS;
      if (error instanceof NoAnswerError && isDue && !hasEnded) replace();
      if (!(error instanceof OverloadedError)) onFailure(error);
    }
  }

  const { run, stop } = startInterval(askOnce, everyMs);
  return {
    /** Asks now, or shares the question that is under way. */
    run,
    /** Closes the connection. The next question makes another one, which may find another host. */
    replace,
    async stop(): Promise<void> {
      hasEnded = true;
      await Promise.all([stop(), sql.end({ timeout: 0 })]);
    },
  };
}
