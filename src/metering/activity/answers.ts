import type { Answer } from '../../http/answer.ts';
import type { Trace } from '../../http/observe.ts';
import { PROBLEMS, type ProblemName } from '../../http/problems.ts';
import type { Log } from '../../platform/observability/log.ts';
import { answerOf } from '../../platform/postgres/answer.ts';
import { isLockTimeout, type Sql } from '../../platform/postgres/connect.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import { SECOND } from '../../platform/units.ts';
import { makeActivityDays, writeActivity } from '../credits/activity.ts';
import type { Caller } from '../keys/authenticate.ts';

const WRITE_EVERY_MS = 5 * SECOND;
/** Rows of an account in a write. Refusals before a token are free and have no other bound. */
const ROWS_AN_ACCOUNT = 20;
/** Rows, and accounts, in memory. Further ones are not noted until the next write. */
const MAX_ROWS = 10_000;

interface NotedAnswer {
  /** The status of the answer. One with a list of items can have their problems, too. */
  status: number;
  /** `null` means that it repeats an earlier answer. */
  problem: ProblemName | null;
}

type Owner = Pick<Caller, 'accountId' | 'keyId'>;

interface AnswerRow {
  accountId: string;
  at: Date;
  callId: string | null;
  requestId: string | null;
  keyId: string;
  endpoint: string | null;
  status: number | null;
  problem: string | null;
  unlisted: number | null;
}

/**
 * Notes answers for the activity, in memory, so that a request costs no statement. A process that is killed, or whose write got no
 * answer, loses those since its last write, usually of five seconds.
 *
 * @param maxRows for tests
 */
export function createAnswerNotes(sql: Sql, maxRows = MAX_ROWS) {
  /** By account, its rows, and how many answers have none. */
  let noted = new Map<string, { rows: AnswerRow[]; unlisted: number }>();
  let rows = 0;

  /** Notes an answer that tells more than its charge: a problem, also of an item, or a repetition of an earlier answer. */
  function note(owner: Owner, trace: Trace, answer: Answer, isRepeated: boolean): void {
    for (const noted of notedAnswers(answer, isRepeated)) add(owner, trace, noted);
  }

  function add({ accountId, keyId }: Owner, trace: Trace, { status, problem }: NotedAnswer): void {
    const { callId, requestId = null, endpoint = null } = trace;
    if (callId === undefined) return;
    let account = noted.get(accountId);
    if (account === undefined) {
      if (noted.size >= maxRows) return;
      account = { rows: [], unlisted: 0 };
      noted.set(accountId, account);
    }
    if (account.rows.length >= ROWS_AN_ACCOUNT || rows >= maxRows) {
      account.unlisted += 1;
      return;
    }
    rows += 1;
    account.rows.push({
      accountId,
      at: new Date(),
      callId,
      requestId: requestId === callId ? null : requestId,
      keyId,
      endpoint,
      status,
      problem,
      unlisted: null,
    });
  }

  /** Writes what was noted. @throws if Postgres did not take it. It is lost, unless it only waited too long for its turn */
  async function write(): Promise<void> {
    if (noted.size === 0) return;
    const written = noted;
    noted = new Map();
    rows = 0;
    try {
      await answerOf(makeActivityDays(sql));
      await answerOf(
        writeAnswers(
          sql,
          [...written].flatMap(([id, account]) => rowsOf(id, account)),
        ),
      );
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      for (const [id, account] of written) keep(id, account);
    }
  }

  /** Keeps an account's rows for the next write, within the bounds. */
  function keep(id: string, earlier: { rows: AnswerRow[]; unlisted: number }): void {
    const later = noted.get(id);
    const all = [...earlier.rows, ...(later?.rows ?? [])];
    const free = maxRows - rows + (later?.rows.length ?? 0);
    const kept = all.slice(0, Math.min(ROWS_AN_ACCOUNT, free));
    noted.set(id, {
      rows: kept,
      unlisted: earlier.unlisted + (later?.unlisted ?? 0) + all.length - kept.length,
    });
    rows += kept.length - (later?.rows.length ?? 0);
  }

  /** Starts to write every few seconds. @returns a function that stops this and writes the rest */
  function start(log: Log): () => Promise<void> {
    const writes = startInterval(write, WRITE_EVERY_MS, (error) =>
      log.warn({ err: error }, 'answers were not written; the activity lacks them'),
    );
    return async () => {
      await writes.stop();
      await writes.run();
    };
  }

  return { note, write, start };
}

/** What is noted of an answer: its problem, each kind of problem of its items, and whether it repeats an earlier one. */
function notedAnswers(answer: Answer, isRepeated: boolean): NotedAnswer[] {
  if (!answer.ok) {
    const { kind } = answer.problem;
    return [{ status: PROBLEMS[kind].status, problem: kind }];
  }
  const noted: NotedAnswer[] = isRepeated ? [{ status: 200, problem: null }] : [];
  // Nearly every answer has none, and even an empty Set takes time.
  if (answer.itemProblems !== undefined)
    for (const problem of new Set(answer.itemProblems)) noted.push({ status: 200, problem });
  return noted;
}

function rowsOf(accountId: string, { rows, unlisted }: { rows: AnswerRow[]; unlisted: number }): AnswerRow[] {
  if (unlisted === 0) return rows;
  const nothing = { callId: null, requestId: null, keyId: '', endpoint: null, status: null, problem: null };
  return [...rows, { accountId, at: rows.at(-1)?.at ?? new Date(), ...nothing, unlisted }];
}

/** Writes rows of accounts that are not deleted. The numbers are taken before any other row is locked. */
function writeAnswers(sql: Sql, rows: AnswerRow[]) {
  return sql`
    WITH numbers AS MATERIALIZED (SELECT take_activity_numbers(${rows.length}) AS taken), answer AS MATERIALIZED (
      SELECT "accountId" AS account_id, at, "callId" AS call_id, "requestId" AS request_id, "keyId" AS key_id, endpoint, status,
        problem, 0::bigint AS credits, unlisted
      FROM jsonb_to_recordset(${sql.json(rows as never)}) AS answer (
        "accountId" text, at timestamptz, "callId" uuid, "requestId" text, "keyId" text, endpoint text, status smallint,
        problem text, unlisted bigint)
      WHERE (SELECT taken FROM numbers) IS NOT NULL
    )
    ${writeActivity(sql, 'answer', sql`SELECT * FROM answer`)}`;
}
