/** Counts error answers of the API in memory, and adds them to each day's counts every few seconds. */
import { type ErrorKind, errorKindOf } from '../../http/error-kind.ts';
import type { ProblemName } from '../../http/problems.ts';
import type { Log } from '../../platform/observability/log.ts';
import { answerOf } from '../../platform/postgres/answer.ts';
import { isLockTimeout, type Sql } from '../../platform/postgres/connect.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import { HOUR, SECOND } from '../../platform/units.ts';
import { addDailyCounts } from '../credits/daily-counts.ts';
import type { Caller } from '../keys/authenticate.ts';

const WRITE_EVERY_MS = 5 * SECOND;
/** The most counters in memory. Further ones are not counted until the next write. */
const MAX_COUNTERS = 10_000;
/** Counters in a statement. Statements of all processes take turns, so each has to be short. */
const COUNTERS_AT_ONCE = 500;

type Counter = {
  accountId: string;
  keyId: string;
  kind: ErrorKind;
  /** UTC, by this process's clock: hours since 1970. As a text it took 3% of a refusal. */
  hour: number;
  calls: number;
  credits: number;
};

/**
 * The error answers of one process. A request costs no statement. A process that is killed, or whose write got no answer, loses
 * the counts since its last write, usually of five seconds. No answer is counted twice.
 *
 * @param maxCounters for tests
 */
export function createErrorAnswers(sql: Sql, maxCounters = MAX_COUNTERS) {
  const counters = new Map<string, Counter>();

  /** Counts an error answer to a caller, in memory. @param credits that it cost */
  function count(
    { accountId, keyId }: Pick<Caller, 'accountId' | 'keyId'>,
    problem: ProblemName,
    credits = 0,
  ): void {
    add({
      accountId,
      keyId,
      kind: errorKindOf(problem),
      hour: Math.floor(Date.now() / HOUR),
      calls: 1,
      credits,
    });
  }

  function add(counter: Counter): void {
    const { accountId, keyId, kind, hour, calls, credits } = counter;
    const id = `${accountId} ${hour} ${keyId} ${kind}`;
    const known = counters.get(id);
    if (known !== undefined) {
      known.calls += calls;
      known.credits += credits;
    } else if (counters.size < maxCounters) counters.set(id, counter);
  }

  /**
   * Adds the counters to the days' counts, in parts.
   * A part that waited too long for its turn waits for the next write, with the later ones.
   * @throws if Postgres did not take a part. It is lost; later ones wait for the next write
   */
  async function write(): Promise<void> {
    for (let parts = Math.ceil(counters.size / COUNTERS_AT_ONCE); parts > 0; parts -= 1) {
      const part = takePart();
      try {
        await answerOf(addCounters(sql, part));
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        for (const counter of part) add(counter);
        return;
      }
    }
  }

  function takePart(): Counter[] {
    const part: Counter[] = [];
    for (const [id, counter] of counters) {
      if (part.length === COUNTERS_AT_ONCE) break;
      counters.delete(id);
      part.push(counter);
    }
    return part;
  }

  /** Starts to write every few seconds. @returns a function that stops this and writes the rest */
  function start(log: Log): () => Promise<void> {
    const writes = startInterval(write, WRITE_EVERY_MS, (error) =>
      log.warn({ err: error }, 'error answers were not written; they are not counted'),
    );
    return async () => {
      await writes.stop();
      await writes.run();
    };
  }

  return { count, write, start };
}

/**
 * Adds counters, of accounts that are not deleted. It waits for no lock of an account, so a write at the moment of a deletion may
 * leave counts of the deleted account. They hold no name.
 */
function addCounters(sql: Sql, counters: Counter[]) {
  return sql`
    ${addDailyCounts(
      sql,
      sql`
        SELECT accounts.id AS account_id, to_timestamp(hour * 3600::float8) AS at, "keyId" AS key_id, kind, calls, credits
        FROM jsonb_to_recordset(${sql.json(counters)})
          AS counter ("accountId" text, hour integer, "keyId" text, kind text, calls bigint, credits bigint)
          JOIN accounts ON accounts.id = "accountId" AND deleted_at IS NULL`,
      { areErrors: true },
    )}`;
}
