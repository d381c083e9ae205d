/**
 * What a process notes of requests in memory, so that a request costs no statement: the last use of each secret and the counts of error
 * answers (`counts.ts`), and for the activity the answers that no charge tells of (`answers.ts`). One timer writes them, each kind
 * by a statement of its own.
 */
import type { Answer } from '../../http/answer.ts';
import { isFree } from '../../http/error-kind.ts';
import type { Trace } from '../../http/observe.ts';
import type { ProblemName } from '../../http/problems.ts';
import type { Log } from '../../platform/observability/log.ts';
import { answerOf } from '../../platform/postgres/answer.ts';
import { isLockTimeout, isRolledBack, type Sql } from '../../platform/postgres/connect.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import { SECOND } from '../../platform/units.ts';
import type { Owner } from '../credits/call.ts';
import { createAnswerNotes } from './answers.ts';
import { createCounts } from './counts.ts';

const WRITE_EVERY_MS = 5 * SECOND;

export type Notes = ReturnType<typeof createNotes>;

export interface NotesOptions {
  /** Whether answers are noted for the activity (`ACTIVITY_DAYS`). */
  keepsActivity?: boolean;
  /** For tests. */
  maxCounters?: number;
  maxRows?: number;
}

/**
 * The notes of one process. A process that is killed loses those since its last write, usually of five seconds, and a write without an
 * answer loses its own, because it may have been stored. After an error that Postgres answered they wait for the next write.
 */
export function createNotes(sql: Sql, { keepsActivity = true, maxCounters, maxRows }: NotesOptions = {}) {
  const counts = createCounts(sql, maxCounters);
  const answers = createAnswerNotes(sql, maxRows);
  const writeCounts = writerOf(counts);
  const writeAnswers = writerOf(answers);

  /**
   * Notes the answer to a known caller: a problem, also of each item, and a repetition of an earlier answer.
   * @param paid by the request: credits, and whether an earlier sending has counted them
   */
  function answered(
    owner: Owner,
    trace: Trace,
    answer: Answer,
    paid: { spent: number; isRepeated: boolean },
  ): void {
    for (const [problem, credits] of errorsOf(answer, paid)) counts.add(owner, problem, credits);
    if (keepsActivity) answers.note(owner, trace, answer, paid.isRepeated);
  }

  /** Writes what was noted. @throws the first failure, after the other notes were written */
  async function write(): Promise<void> {
    const outcomes = [await writeCounts(), await writeAnswers()];
    for (const { error } of outcomes) if (error !== undefined) throw error;
  }

  /** Starts to write every few seconds. @returns a function that stops this and writes the rest */
  function start(log: Log): () => Promise<void> {
    const writes = startInterval(write, WRITE_EVERY_MS, (error) =>
      log.warn({ err: error }, 'uses of keys, error answers or activity were not written'),
    );
    return async () => {
      await writes.stop();
      await writes.run();
    };
  }

  return { used: counts.used, answered, write, start };
}

/** Notes of one kind in memory. Each has a bound; what it has no room for is not noted. A refused write is kept beside them. */
interface Kept<Taken> {
  /** Takes all of them, to be written; `null` means that there are none. */
  take(): Taken | null;
  /** Writes them in one statement. */
  store(taken: Taken): PromiseLike<unknown>;
}

/** Writes notes of one kind: first those of an earlier write, if Postgres has answered that nothing of it was written. */
function writerOf<Taken>({ take, store }: Kept<Taken>) {
  let unwritten: Taken | null = null;
  return async function write(): Promise<{ error?: unknown }> {
    const isEarlier = unwritten !== null;
    const taken = unwritten ?? take();
    unwritten = null;
    if (taken === null) return {};
    try {
      await answerOf(store(taken));
      return isEarlier ? write() : {};
    } catch (error) {
      if (isRolledBack(error)) unwritten = taken;
      // Another statement has its turn, for example a deletion: no fault.
      return isLockTimeout(error) ? {} : { error };
    }
  };
}

/** The problems of an answer, of its items too, each with the credits that it cost. */
export function errorsOf(
  answer: Answer,
  { spent, isRepeated }: { spent: number; isRepeated: boolean },
): [ProblemName, number][] {
  const cost = (kind: ProblemName, credits: number) => (isRepeated || isFree(kind) ? 0 : credits);
  if (!answer.ok) return [[answer.problem.kind, cost(answer.problem.kind, spent)]];
  // Nearly every answer has none, and even an empty array takes time.
  if (answer.itemProblems === undefined) return NONE;
  return answer.itemProblems.map(({ kind }) => [kind, cost(kind, 1)]);
}
const NONE: [ProblemName, number][] = [];
