/** Counts error answers of the API in memory, and adds them to each day's counts every few seconds. */
import { randomUUID } from 'node:crypto';
import { type ErrorKind, errorKindOf } from '../http/error-kind.ts';
import type { ProblemName } from '../http/problems.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { Log } from '../observability/log.ts';
import { answerOf } from '../postgres/answer.ts';
import type { Sql } from '../postgres/connect.ts';
import { startInterval } from '../runtime/interval.ts';
import { SECOND } from '../units.ts';

const WRITE_EVERY_MS = 5 * SECOND;
/** The most counters of one statement. */
const MAX_BATCH = 2000;
/** The most counters in memory, about 20 MB. When an outage of Postgres has filled them, further accounts are not counted. */
const MAX_COUNTERS = 50_000;

type Counter = {
  accountId: string;
  keyId: string;
  kind: ErrorKind;
  /** UTC, by this process's clock: YYYY-MM-DD. */
  day: string;
  calls: number;
  credits: number;
};

/**
 * The error answers of one process. A request costs no statement. A killed process loses the counts since its last write,
 * usually of five seconds.
 *
 * @param maxCounters for tests
 */
export function createErrorAnswers(sql: Sql, maxCounters = MAX_COUNTERS) {
  const writer = randomUUID();
  const counters = new Map<string, Counter>();
  /** The counters that are being written. Their number makes sure that a batch that is sent twice is added once. */
  let batch: Counter[] = [];
  let batchNumber = 0;
  let uncounted = 0;

  /** Counts an error answer to a caller, in memory. @param credits that it cost */
  function count(
    { accountId, keyId }: Pick<Caller, 'accountId' | 'keyId'>,
    problem: ProblemName,
    credits = 0,
  ): void {
    const day = new Date().toISOString().slice(0, 10);
    const kind = errorKindOf(problem);
    const id = `${accountId} ${day} ${keyId} ${kind}`;
    const counter = counters.get(id);
    if (counter !== undefined) {
      counter.calls += 1;
      counter.credits += credits;
    } else if (counters.size < maxCounters)
      counters.set(id, { accountId, keyId, kind, day, calls: 1, credits });
    else uncounted += 1;
  }

  function takeBatch(): Counter[] {
    const taken = [...counters].slice(0, MAX_BATCH);
    for (const [id] of taken) counters.delete(id);
    batchNumber += 1;
    return taken.map(([, counter]) => counter);
  }

  /** Adds the counters to the days' counts. They stay in memory until Postgres has acknowledged them. @throws when it did not */
  async function write(): Promise<void> {
    while (batch.length + counters.size > 0) {
      if (batch.length === 0) batch = takeBatch();
      await answerOf(addBatch(sql, writer, batchNumber, batch));
      batch = [];
    }
  }

  /** Starts to write every few seconds. @returns a function that stops this and writes the rest */
  function start(log: Log): () => Promise<void> {
    async function writeAndWarn(): Promise<void> {
      await write();
      if (uncounted > 0) {
        log.warn({ answers: uncounted }, 'error answers were not counted: too many accounts');
      }
      uncounted = 0;
    }
    const writes = startInterval(writeAndWarn, WRITE_EVERY_MS, (error) =>
      log.warn({ err: error }, 'error answers were not written; they are kept'),
    );
    return async () => {
      await writes.stop();
      await writes.run();
    };
  }

  return { count, write, start };
}

/**
 * Adds a batch, unless an earlier attempt has added it already: the writer's row has the number of the last one. It waits for no
 * lock of an account, so a write at the moment of a deletion may leave counts of the deleted account. They hold no name.
 */
function addBatch(sql: Sql, writer: string, number: number, counters: Counter[]) {
  return sql`
    WITH entry AS (
      SELECT "accountId" AS account_id, day, "keyId" AS key_id, kind, calls, credits
      FROM jsonb_to_recordset(${sql.json(counters)})
        AS counter ("accountId" text, day date, "keyId" text, kind text, calls bigint, credits bigint)
    ), gone AS (
      DELETE FROM error_answer_writers WHERE ${number} = 1 AND written_at < now() - interval '7 days'
    ), added AS (
      INSERT INTO error_answer_writers AS known (id, batch) VALUES (${writer}, ${number})
      ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = now() WHERE known.batch < excluded.batch
      RETURNING id
    )
    INSERT INTO daily_error_answers AS daily (account_id, day, key_id, kind, calls, credits)
    SELECT account_id, day, key_id, kind, calls, credits
    FROM entry JOIN accounts ON accounts.id = account_id AND deleted_at IS NULL CROSS JOIN added
    ORDER BY account_id COLLATE "C", day, key_id, kind
    ON CONFLICT (account_id, day, key_id, kind) DO UPDATE
      SET calls = daily.calls + excluded.calls, credits = daily.credits + excluded.credits`;
}
