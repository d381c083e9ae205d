import { randomUUID } from 'node:crypto';
import { createBatcher } from '../batch.ts';
import { DeadlineError, within } from '../deadline.ts';
import { LOCK_NOT_AVAILABLE, type Sql } from '../postgres/connect.ts';
import { SECOND } from '../units.ts';
import { createOwed } from './owed.ts';
import type { Attempt, Refundable } from './refund.ts';
import {
  type Ask,
  type Bounds,
  type CallKind,
  type NothingSpent,
  type Payment,
  type Spent,
  spend,
  spendIfPayable,
} from './spend.ts';

/** What the ledger said of one call. */
export type Admission =
  | {
      admitted: true;
      /**
       * The index of the directory that was current when the credit was spent, from the same statement: what a search
       * may answer from its cache (docs/performance.md). null: there is none.
       */
      directoryIndex: string | null;
    }
  | {
      admitted: false;
      /** The included allowance of the period, credits. */
      limit: number;
      /** When the included allowance is there again. */
      resetAt: Date;
      /** Whole seconds until then, by Postgres's clock, at least 1. */
      retryAfterS: number;
    };

/** One call that wants a credit. */
export interface Call {
  accountId: string;
  /** '' for a call made in the dashboard. */
  keyId: string;
  kind: CallKind;
}

export interface Credits {
  /**
   * Spends one credit of the account: included first, then purchased (specification, Credits 3). Durable before it
   * returns, and exact with any number of processes at once.
   *
   * @throws when Postgres could not say. The credit is not spent then, or is given back as soon as Postgres answers
   */
  admit(call: Call): Promise<Admission>;
  /** Waits for statements under way, and gives back what is owed. Both are bounded. */
  close(): Promise<void>;
}

export interface CreditsOptions {
  /** For tests: the instant that admissions count at. Absent: Postgres's clock (contract, choice 9). */
  instant?: () => Date;
  /** Told of credits that could not be given back: the only way in which any could be lost. null: of several accounts. */
  onRefundFailed?: (accountId: string | null, error: unknown) => void;
}

/** An admission that Postgres has not begun by then never happens. */
const STATEMENT_DEADLINE_MS = 1.5 * SECOND;
/** After all the waiting: a moment before whoever asked is told so. */
const LAST_DEADLINE_MS = 1.9 * SECOND;
/** Who has waited this long for the first statement is left out of the second: the others would have no time either. */
const LATEST_FOR_SECOND_MS = 1.6 * SECOND;
/** Whoever has waited this long, in the queue and for the statement, is told that credits can't be counted. */
const ADMISSION_TIMEOUT_MS = 2 * SECOND;
/** A statement that has not answered by then makes room for the next: its connection may be gone without a word. */
const RUN_TIMEOUT_MS = 2.5 * SECOND;
/**
 * One statement at a time: what comes while it commits shares the next. Two at once took a fifth more of Postgres's time
 * for each call, and waited for each other's rows.
 */
const BATCHES = { maxBatch: 500, maxRuns: 1, maxWaiting: 20_000, maxWaitMs: ADMISSION_TIMEOUT_MS };

/** Postgres's error codes where a server that stops, or restarts after a crash, ended the connection. */
const ADMIN_SHUTDOWN = '57P01';
const CRASH_SHUTDOWN = '57P02';

interface PendingCall extends Call {
  /** When it came, of `performance.now()`. */
  sinceMs: number;
  /** Whoever asked has been answered 503: if the call is admitted all the same, it is given back. */
  abandoned: boolean;
}

/**
 * The one way to spend a credit. Calls that arrive in one turn of the event loop share one statement: one for those that
 * can be paid out of the period that runs, and one that knows all the rules for whoever is left. Who has used up their
 * credits waits for both, and holds up nobody else.
 */
export function createCredits(sql: Sql, options: CreditsOptions = {}): Credits {
  // Postgres's clock minus ours, learnt from every answer: deadlines are in Postgres's time.
  let clockOffsetMs = 0;
  const owed = createOwed(sql, (accountId, error) => options.onRefundFailed?.(accountId, error));
  const underWay = new Set<Promise<unknown>>();
  const askIfPayable = createBatcher(async (calls: PendingCall[]) => {
    const admissions = await run(calls, spendIfPayable, settlePayment, STATEMENT_DEADLINE_MS);
    return calls.map((call) => admissions.get(call) ?? null);
  }, BATCHES);
  // Its calls have waited before: what would come too late for the oldest of them doesn't happen.
  const askInFull = createBatcher(async (calls: PendingCall[]) => {
    const waitedMs = ({ sinceMs }: PendingCall) => performance.now() - sinceMs;
    const inTime = calls.filter((call) => waitedMs(call) < LATEST_FOR_SECOND_MS);
    const leftMs = LAST_DEADLINE_MS - Math.max(0, ...inTime.map(waitedMs));
    const admissions = await run(inTime, spend, settleAll, Math.min(STATEMENT_DEADLINE_MS, leftMs));
    return calls.map((call) => admissions.get(call) ?? null);
  }, BATCHES);

  async function admit(call: Call): Promise<Admission> {
    const pending: PendingCall = { ...call, sinceMs: performance.now(), abandoned: false };
    try {
      const admission = await within(decide(pending), ADMISSION_TIMEOUT_MS, 'the credit ledger');
      if (admission === null) throw new Error('the credit ledger was too late, or the account is gone');
      return admission;
    } catch (error) {
      pending.abandoned = true;
      throw error;
    }
  }

  async function decide(call: PendingCall): Promise<Admission | null> {
    return (await askIfPayable(call)) ?? (await askInFull(call));
  }

  /** Runs one statement for the calls. @returns what it decided; calls that it left alone are missing */
  async function run<Outcome>(
    calls: PendingCall[],
    statement: Statement<Outcome>,
    settle: (outcome: Outcome, byAccount: Map<string, Group[]>) => Settled,
    deadlineMs: number,
  ): Promise<Map<PendingCall, Admission>> {
    const byAccount = groupCalls(calls.filter((call) => !call.abandoned));
    const asks = [...byAccount.values()].flat().map(({ ask }) => ask);
    const askedAtMs = Date.now();
    const deadline = new Date(askedAtMs + clockOffsetMs + deadlineMs);
    if (asks.length === 0) return new Map();
    const attempts: Attempt[] = [];
    let isOver = false;
    const answer = spendUnlocked(statement, asks, deadline, (id) => {
      if (isOver) throw new Error('nobody waits for it any more');
      attempts.push({ id, accountIds: [...byAccount.keys()], deadline });
    });
    const answered = within(answer, RUN_TIMEOUT_MS, 'the credit ledger');
    underWay.add(answered);
    try {
      const { at, admissions } = settle(await answered, byAccount);
      if (at !== null) learnClock(at.getTime(), askedAtMs);
      return admissions;
    } catch (error) {
      isOver = true;
      // Everyone is told 503: whatever it has spent, or still will, is given back as a whole.
      if (error instanceof DeadlineError || isInDoubt(error))
        for (const attempt of attempts) owed.undo(attempt);
      throw error;
    } finally {
      underWay.delete(answered);
    }
  }

  function settlePayment(payment: Payment, byAccount: Map<string, Group[]>): Settled {
    const { unpaid, fromPurchased, at, instant, directoryIndex } = payment;
    const admissions = new Map<PendingCall, Admission>();
    const admission: Admission = { admitted: true, directoryIndex };
    for (const [accountId, groups] of byAccount) {
      if (unpaid.has(accountId)) continue;
      const spent = { accountId, fromPurchased: fromPurchased.get(accountId) ?? 0, instant };
      settle(spent, groups, Number.POSITIVE_INFINITY, () => admission, admissions);
    }
    return { at, admissions };
  }

  function settleAll(rows: (Spent | NothingSpent)[], byAccount: Map<string, Group[]>): Settled {
    const admissions = new Map<PendingCall, Admission>();
    for (const spent of rows) {
      if (spent.accountId === null) continue;
      const admitted: Admission = { admitted: true, directoryIndex: spent.directoryIndex };
      const refused = refusal(spent);
      const groups = byAccount.get(spent.accountId) ?? [];
      settle(spent, groups, spent.admitted, (isAdmitted) => (isAdmitted ? admitted : refused), admissions);
    }
    return { at: rows[0]?.at ?? null, admissions };
  }

  /**
   * An account whose row somebody holds (an operator's open transaction) must not hold up the others of its batch: after
   * Postgres's lock_timeout the rest goes on without it.
   */
  async function spendUnlocked<Outcome>(
    statement: Statement<Outcome>,
    asks: Ask[],
    deadline: Date,
    onAttempt: (id: string) => void,
  ): Promise<Outcome> {
    const send = (skipLocked: boolean) => {
      const attempt = randomUUID();
      onAttempt(attempt);
      return statement(sql, asks, { deadline, instant: options.instant?.() ?? null, skipLocked, attempt });
    };
    try {
      return await send(false);
    } catch (error) {
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
      return await send(true);
    }
  }

  /**
   * Postgres read its clock between our asking and now, which bounds the difference from both sides. An answer that was
   * long under way says little then, and doesn't spoil what quick ones have taught.
   */
  function learnClock(atMs: number, askedAtMs: number): void {
    clockOffsetMs = Math.min(Math.max(clockOffsetMs, atMs - Date.now()), atMs - askedAtMs);
  }

  /**
   * Deals an account's admitted calls out in the order in which the statement counted them, and gives those back whose
   * callers have left.
   */
  function settle(
    spent: Refundable,
    groups: Group[],
    admitted: number,
    answer: (isAdmitted: boolean) => Admission,
    admissions: Map<PendingCall, Admission>,
  ): void {
    let left = admitted;
    const late: Ask[] = [];
    for (const { ask, calls } of groups) {
      for (const call of calls) {
        if (left > 0 && call.abandoned) late.push({ ...ask, calls: 1 });
        admissions.set(call, answer(left > 0));
        left -= 1;
      }
    }
    if (late.length > 0) owed.giveBack(late, spent);
  }

  async function close(): Promise<void> {
    await Promise.allSettled(underWay);
    await owed.close();
  }

  return { admit, close };
}

/** Errors with which a statement ends that was never sent. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'CONNECT_TIMEOUT']);

/** Whether a statement that failed may have been committed all the same: its connection was lost before it said. */
function isInDoubt(error: unknown): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown };
  if (name === 'PostgresError') return code === ADMIN_SHUTDOWN || code === CRASH_SHUTDOWN;
  return !NEVER_SENT.has(String(code));
}

type Statement<Outcome> = (sql: Sql, asks: Ask[], bounds: Bounds) => PromiseLike<Outcome>;

/** What a statement decided, and Postgres's clock while it did; null: it didn't say. */
interface Settled {
  at: Date | null;
  admissions: Map<PendingCall, Admission>;
}

interface Group {
  ask: Ask;
  calls: PendingCall[];
}

/** The calls of each account, by key and kind. */
function groupCalls(calls: PendingCall[]): Map<string, Group[]> {
  const byAccount = new Map<string, Group[]>();
  for (const call of calls) {
    const { accountId, keyId, kind } = call;
    let groups = byAccount.get(accountId);
    if (groups === undefined) {
      groups = [];
      byAccount.set(accountId, groups);
    }
    const group = groups.find(({ ask }) => ask.keyId === keyId && ask.kind === kind);
    if (group === undefined) groups.push({ ask: { accountId, keyId, kind, calls: 1 }, calls: [call] });
    else {
      group.ask.calls += 1;
      group.calls.push(call);
    }
  }
  return byAccount;
}

function refusal({ included, periodEnd, untilPeriodEndS }: Spent): Admission {
  return {
    admitted: false,
    limit: included,
    resetAt: periodEnd,
    retryAfterS: Math.max(1, Math.ceil(untilPeriodEndS)),
  };
}
