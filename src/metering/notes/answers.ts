import type { Answer } from '../../http/answer.ts';
import type { Trace } from '../../http/observe.ts';
import { PROBLEMS, type Problem, type ProblemName, type Reason } from '../../http/problems.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { makeActivityDays, writeActivity } from '../credits/activity.ts';
import type { Owner } from '../credits/call.ts';

/** Rows of an account in a write. Refusals before a token are free and have no other bound. */
const ROWS_AN_ACCOUNT = 20;
/** Rows, and accounts, of a write. Further ones are not noted until the next write. */
const MAX_ROWS = 10_000;

interface NotedAnswer {
  /** The status of the answer. One with a list of items can have their problems, too. */
  status: number;
  /** `null` means that it repeats an earlier answer. */
  problem: ProblemName | null;
  reason: Reason | null;
}

/** A row as JSON, so what it lacks is `null` in Postgres. */
interface AnswerRow extends Partial<NotedAnswer> {
  accountId: string;
  at: Date;
  keyId: string;
  callId?: string;
  requestId?: string | undefined;
  endpoint?: string | undefined;
  /** Further answers, which have no row. */
  unlisted?: number;
}

/** The answers of one process for the activity. @param maxRows for tests */
export function createAnswerNotes(sql: Sql, maxRows = MAX_ROWS) {
  /** By account, its rows, and how many answers have none. */
  const accounts = new Map<string, { rows: AnswerRow[]; unlisted: number }>();
  let rows = 0;

  /** Notes an answer that tells more than its charge: a problem, also of an item, or a repetition of an earlier answer. */
  function note({ accountId, keyId }: Owner, trace: Trace, answer: Answer, isRepeated: boolean): void {
    const { callId, requestId, endpoint } = trace;
    if (callId === undefined) return;
    for (const noted of notedAnswers(answer, isRepeated)) {
      let account = accounts.get(accountId);
      if (account === undefined) {
        if (accounts.size >= maxRows) return;
        account = { rows: [], unlisted: 0 };
        accounts.set(accountId, account);
      }
      if (account.rows.length >= ROWS_AN_ACCOUNT || rows >= maxRows) account.unlisted += 1;
      else {
        rows += 1;
        const ids = { accountId, keyId, callId, requestId: requestId === callId ? undefined : requestId };
        account.rows.push({ ...ids, at: new Date(), endpoint, ...noted });
      }
    }
  }

  function take(): AnswerRow[] | null {
    if (accounts.size === 0) return null;
    const taken = [...accounts].flatMap(([accountId, { rows, unlisted }]) => {
      const others = { accountId, at: rows.at(-1)?.at ?? new Date(), keyId: '', unlisted };
      return unlisted === 0 ? rows : [...rows, others];
    });
    accounts.clear();
    rows = 0;
    return taken;
  }

  async function store(taken: AnswerRow[]): Promise<void> {
    await makeActivityDays(sql);
    await writeAnswers(sql, taken);
  }

  return { note, take, store };
}

/** What is noted of an answer: its problem, each kind and reason of a problem of its items, and whether it repeats an earlier one. */
function notedAnswers(answer: Answer, isRepeated: boolean): NotedAnswer[] {
  if (!answer.ok) return [notedProblem(PROBLEMS[answer.problem.kind].status, answer.problem)];
  const noted: NotedAnswer[] = isRepeated ? [{ status: 200, problem: null, reason: null }] : [];
  // Nearly every answer has none, and even an empty Map takes time.
  if (answer.itemProblems === undefined) return noted;
  const kinds = new Map(answer.itemProblems.map((problem) => [`${problem.kind} ${problem.reason}`, problem]));
  return [...noted, ...kinds.values().map((problem) => notedProblem(200, problem))];
}

function notedProblem(status: number, { kind, reason }: Pick<Problem, 'kind' | 'reason'>): NotedAnswer {
  return { status, problem: kind, reason: reason ?? null };
}

/** Writes rows of accounts that are not deleted. The numbers are taken before any other row is locked. */
function writeAnswers(sql: Sql, rows: AnswerRow[]) {
  return sql`
    WITH numbers AS MATERIALIZED (SELECT take_activity_numbers(${rows.length}) AS taken), answer AS MATERIALIZED (
      SELECT "accountId" AS account_id, at, "callId" AS call_id, "requestId" AS request_id, "keyId" AS key_id, endpoint, status,
        problem, 0::bigint AS credits, unlisted, reason
      FROM jsonb_to_recordset(${sql.json(rows as never)}) AS answer (
        "accountId" text, at timestamptz, "callId" uuid, "requestId" text, "keyId" text, endpoint text, status smallint,
        problem text, reason text, unlisted bigint)
      WHERE (SELECT taken FROM numbers) IS NOT NULL
    )
    ${writeActivity(sql, 'answer', sql`SELECT * FROM answer`)}`;
}
