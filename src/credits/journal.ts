import type { Closers } from '../closers.ts';
import type { Log } from '../observability/log.ts';
import { repeat } from '../periodic.ts';
import type { Sql } from '../postgres/connect.ts';
import { SECOND } from '../units.ts';
import { REMEMBERED_MS } from './refund.ts';

const MOVE_EVERY_MS = 5 * SECOND;
/** Rows of the journal in one statement, each of up to a few hundred calls: a good deal less than its time-out. */
const ROWS_AT_ONCE = 2000;

/**
 * Moves what the journal holds into the calls of each day, by account, key and kind. The view `calls_by_day` reads both,
 * so that nothing shows of it. Any number of processes may do it at once: none takes a row that another one is moving.
 *
 * @returns how many rows of the journal were moved
 */
export async function moveJournal(sql: Sql, atOnce = ROWS_AT_ONCE): Promise<number> {
  let total = 0;
  for (;;) {
    const [row] = await sql<{ moved: number }[]>`
      WITH moved AS (
        DELETE FROM call_journal
        WHERE ctid = ANY (ARRAY(SELECT ctid FROM call_journal LIMIT ${atOnce} FOR UPDATE SKIP LOCKED))
        RETURNING *
      ), kept AS (
        INSERT INTO moved_calls (attempt, at, spent_at, account_ids, key_ids, kinds, calls, purchased)
        SELECT attempt, at, spent_at, account_ids, key_ids, kinds, calls, purchased FROM moved WHERE attempt IS NOT NULL
      ), counted AS (
        INSERT INTO daily_calls AS daily (account_id, day, key_id, kind, calls)
        SELECT account_id, (at AT TIME ZONE 'UTC')::date AS day, key_id, kind, sum(entry.calls)
        FROM moved, unnest(account_ids, key_ids, kinds, moved.calls) AS entry (account_id, key_id, kind, calls)
        GROUP BY account_id, day, key_id, kind
        ORDER BY account_id, day, key_id, kind
        ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = daily.calls + excluded.calls
      )
      SELECT count(*) AS moved FROM moved`;
    total += row!.moved;
    if (row!.moved < atOnce) return total;
  }
}

/** Removes what was moved, and the ids of what was given back, when nobody can ask for them any more. */
async function forgetMoved(sql: Sql): Promise<void> {
  // Twice as long as anybody asks: who asks has counted from a moment later.
  const longAgo = sql`now() - 2 * ${REMEMBERED_MS}::float8 * interval '1 millisecond'`;
  await sql`DELETE FROM moved_calls WHERE moved_at < ${longAgo}`;
  await sql`DELETE FROM give_backs WHERE at < ${longAgo}`;
}

/** Keeps the journal short while the service runs. What is left when it stops is moved by the next. */
export function keepMovingJournal(sql: Sql, log: Log, closers: Closers): void {
  let failing = false;

  async function move(): Promise<void> {
    try {
      await moveJournal(sql);
      await forgetMoved(sql);
      failing = false;
    } catch (error) {
      // Said once: with Postgres away, whoever wants a credit hears of it anyway.
      if (!failing) log.warn({ err: error }, 'the journal of calls was not moved');
      failing = true;
    }
  }

  closers.add('the journal of calls', repeat(move, MOVE_EVERY_MS).stop);
}
