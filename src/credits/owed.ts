import { randomUUID } from 'node:crypto';
import { within } from '../deadline.ts';
import { repeat } from '../periodic.ts';
import type { Sql } from '../postgres/connect.ts';
import { SECOND } from '../units.ts';
import type { Ask } from './calls.ts';
import { type Attempt, REMEMBERED_MS, type Refundable, refund, undoAttempt } from './refund.ts';

const TRY_EVERY_MS = 1 * SECOND;
const TRY_TIMEOUT_MS = 3 * SECOND;
/** A stop of the service waits this long for what is owed. */
const LAST_TRIES_MS = 2.4 * SECOND;
const LAST_PAUSE_MS = 50;

/** What is owed back to accounts: tried again and again until it has happened. */
export interface Owed {
  /** Whatever this statement has spent or still will: nobody waits for its answer any more, or the answer is lost. */
  undo(attempt: Attempt): void;
  /** Calls that were admitted too late for whoever asked. */
  giveBack(asks: Ask[], spent: Refundable): void;
  /** Tries for a moment more, for the last time. */
  close(): Promise<void>;
}

/** What was owed back, and is not any more. */
export interface Lost {
  /** The statement that may have spent it, whose answer was lost; null: it is known to have been spent. */
  attempt: string | null;
  /** How many credits, by account. */
  calls: Record<string, number>;
}

interface Task {
  lost: Lost;
  sinceMs: number;
  /**
   * @param isForgotten whether it is owed for so long that what was spent is not remembered any more
   * @returns whether it is over
   */
  run(isForgotten: () => boolean): Promise<boolean>;
  /** Why it didn't happen. */
  error: unknown;
}

/**
 * @param onLost told of what could not be given back as long as it was remembered what was spent
 * @param nowMs a monotonic clock, for tests
 */
export function createOwed(
  sql: Sql,
  onLost: (lost: Lost, error: unknown) => void,
  nowMs = () => performance.now(),
): Owed {
  const open = new Set<Task>();
  const tries = repeat(tryAll, TRY_EVERY_MS);

  function add(lost: Lost, run: Task['run']): void {
    open.add({ lost, sinceMs: nowMs(), run, error: null });
    void tries.run();
  }

  function giveUp(task: Task): void {
    open.delete(task);
    onLost(task.lost, task.error);
  }

  async function tryAll(): Promise<void> {
    const isForgotten = ({ sinceMs }: Task) => nowMs() - sinceMs > REMEMBERED_MS;
    for (const task of [...open]) {
      try {
        if (
          await within(
            task.run(() => isForgotten(task)),
            TRY_TIMEOUT_MS,
            'Postgres',
          )
        )
          open.delete(task);
      } catch (error) {
        task.error = error;
        if (isForgotten(task)) giveUp(task);
        else {
          // Behind the others: it may be the only one that fails. Or Postgres is away, and they would fail too.
          open.delete(task);
          open.add(task);
          return;
        }
      }
    }
  }

  return {
    undo(attempt) {
      add({ attempt: attempt.id, calls: attempt.calls }, async (isForgotten) => {
        const outcome = await undoAttempt(sql, attempt);
        if (outcome !== 'spent' && isForgotten()) {
          throw new Error('what became of an attempt to spend credits is not known any more');
        }
        return outcome !== 'early';
      });
    },
    giveBack(asks, spent) {
      const id = randomUUID();
      const calls = asks.reduce((sum, ask) => sum + ask.calls, 0);
      add({ attempt: null, calls: { [spent.accountId]: calls } }, async () => {
        await refund(sql, id, asks, spent);
        return true;
      });
    },
    async close() {
      const untilMs = performance.now() + LAST_TRIES_MS;
      await within(tries.stop(), LAST_TRIES_MS, 'what is owed').catch(() => {});
      while (open.size > 0 && performance.now() < untilMs) {
        await within(tries.run(), untilMs - performance.now(), 'what is owed').catch(() => {});
        if (open.size > 0) await Bun.sleep(LAST_PAUSE_MS);
      }
      for (const task of [...open]) giveUp(task);
    },
  };
}
