import { randomUUID } from 'node:crypto';
import { createBatcher } from '../batch.ts';
import { steadyUnixMs } from '../clock.ts';
import { within } from '../deadline.ts';
import { LOCK_NOT_AVAILABLE, type Sql } from '../postgres/connect.ts';
import { SECOND } from '../units.ts';
import {
  type Admission,
  type Ask,
  type Call,
  deal,
  type Group,
  groupCalls,
  type PendingCall,
} from './calls.ts';
import { createOwed, type Lost } from './owed.ts';
import { type Bounds, type NothingSpent, type Payment, type Spent, spend, spendIfPayable } from './spend.ts';

export interface Credits {
  /**
   * Spends one credit of the account: included first, then purchased (specification, Credits 3). Durable before it
   * returns, and exact with any number of processes at once.
   *
   * @throws when Postgres could not say, or the caller has gone. The credit is not spent then, or is given back as soon as
   *   Postgres answers
   */
  admit(call: Call): Promise<Admission>;
  /** Waits for statements under way, and gives back what is owed. Both are bounded. */
  close(): Promise<void>;
}

export interface CreditsOptions {
  /** For tests: the instant that admissions count at. Absent: Postgres's clock (contract, choice 9). */
  instant?: () => Date;
  /** Told of credits that could not be given back: the only way in which any could be lost. */
  onRefundFailed?: (lost: Lost, error: unknown) => void;
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
const BATCHES = {
  maxBatch: 500,
  maxRuns: 1,
  maxWaiting: 20_000,
  timeoutMs: ADMISSION_TIMEOUT_MS,
  what: 'the credit ledger',
  sinceMsOf: ({ sinceMs }: PendingCall) => sinceMs,
};

/** Postgres's error codes where a server that stops, or restarts after a crash, ended the connection. */
const ADMIN_SHUTDOWN = '57P01';
const CRASH_SHUTDOWN = '57P02';

/**
 * The one way to spend a credit. Calls that arrive in one turn of the event loop share one statement: one for those that
 * can be paid out of the period that runs, and one that knows all the rules for whoever is left. Who has used up their
 * credits waits for both, and holds up nobody else.
 */
export function createCredits(sql: Sql, options: CreditsOptions = {}): Credits {
  // Postgres's clock minus ours, learnt from every answer: deadlines are in Postgres's time.
  let clockOffsetMs = 0;
  const owed = createOwed(sql, (lost, error) => options.onRefundFailed?.(lost, error));
  const underWay = new Set<Promise<unknown>>();
  const askIfPayable = createBatcher(
    (calls: PendingCall[]) => run(calls, pay, STATEMENT_DEADLINE_MS),
    BATCHES,
  );
  // Its calls have waited before: what would come too late for the oldest of them doesn't happen.
  const askInFull = createBatcher(async (calls: PendingCall[]) => {
    const waitedMs = ({ sinceMs }: PendingCall) => performance.now() - sinceMs;
    const inTime = calls.filter((call) => waitedMs(call) < LATEST_FOR_SECOND_MS);
    const leftMs = LAST_DEADLINE_MS - Math.max(0, ...inTime.map(waitedMs));
    await run(inTime, decide, Math.min(STATEMENT_DEADLINE_MS, leftMs));
    return calls.map(({ admission }) => admission);
  }, BATCHES);

  async function admit(asked: Call): Promise<Admission> {
    const call: PendingCall = {
      ...asked,
      sinceMs: performance.now(),
      abandoned: false,
      admission: null,
    };
    try {
      const admission = (await askIfPayable(call)) ?? (await askInFull(call));
      if (admission === null && call.signal?.aborted) throw new Error('the caller has left');
      if (admission === null) throw new Error('the credit ledger was too late, or the account is gone');
      return admission;
    } catch (error) {
      call.abandoned = true;
      throw error;
    }
  }

  /** Runs one statement for the calls. @returns what it decided of each; null where it left the call alone */
  async function run(
    calls: PendingCall[],
    statement: Statement,
    deadlineMs: number,
  ): Promise<(Admission | null)[]> {
    const byAccount = groupCalls(calls.filter(isWaitedFor));
    if (byAccount.size === 0) return calls.map(() => null);
    const askedAtMs = steadyUnixMs();
    const deadline = new Date(askedAtMs + clockOffsetMs + deadlineMs);
    const attempts: string[] = [];
    let isOver = false;
    const answer = runUnlocked(statement, byAccount, deadline, (id) => {
      if (isOver) throw new Error('nobody waits for it any more');
      attempts.push(id);
    });
    const answered = within(answer, RUN_TIMEOUT_MS, 'the credit ledger');
    underWay.add(answered);
    try {
      const settle = await answered;
      const at = settle();
      if (at !== null) learnClock(at.getTime(), askedAtMs);
    } catch (error) {
      isOver = true;
      // Everyone is told 503: whatever it has spent, or still will, is given back as a whole.
      if (isInDoubt(error)) {
        const calls = callsOf(byAccount);
        for (const id of attempts) owed.undo({ id, calls, deadline });
      }
      throw error;
    } finally {
      underWay.delete(answered);
    }
    return calls.map(({ admission }) => admission);
  }

  /**
   * An account whose row somebody holds (an operator's open transaction) must not hold up the others of its batch: after
   * Postgres's lock_timeout the rest goes on without it.
   */
  async function runUnlocked(
    statement: Statement,
    byAccount: Map<string, Group[]>,
    deadline: Date,
    onAttempt: (id: string) => void,
  ): Promise<Settle> {
    const asks = [...byAccount.values()].flatMap((groups) => groups.map(({ ask }) => ask));
    const bounds = (skipLocked: boolean): Bounds => {
      const attempt = randomUUID();
      onAttempt(attempt);
      return { deadline, instant: options.instant?.() ?? null, skipLocked, attempt };
    };
    try {
      return await statement(byAccount, asks, bounds(false));
    } catch (error) {
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
      return await decide(byAccount, asks, bounds(true));
    }
  }

  async function pay(byAccount: Map<string, Group[]>, asks: Ask[], bounds: Bounds): Promise<Settle> {
    const payment = await spendIfPayable(sql, asks, bounds);
    return () => settlePayment(payment, byAccount);
  }

  async function decide(byAccount: Map<string, Group[]>, asks: Ask[], bounds: Bounds): Promise<Settle> {
    const rows = await spend(sql, asks, bounds);
    return () => settleAll(rows, byAccount);
  }

  function settlePayment(payment: Payment, byAccount: Map<string, Group[]>): Date {
    const { unpaid, fromPurchased, at, instant, spentAt, directoryIndex } = payment;
    const admission: Admission = { admitted: true, directoryIndex };
    for (const [accountId, groups] of byAccount) {
      if (unpaid.has(accountId)) continue;
      const late = deal(groups, Number.POSITIVE_INFINITY, admission);
      if (late.length === 0) continue;
      owed.giveBack(late, { accountId, fromPurchased: fromPurchased.get(accountId) ?? 0, instant, spentAt });
    }
    return at;
  }

  function settleAll(rows: (Spent | NothingSpent)[], byAccount: Map<string, Group[]>): Date | null {
    for (const spent of rows) {
      if (spent.accountId === null) continue;
      const admission: Admission = { admitted: true, directoryIndex: spent.directoryIndex };
      const groups = byAccount.get(spent.accountId) ?? [];
      const late = deal(groups, spent.admitted, admission, refusal(spent));
      if (late.length > 0) owed.giveBack(late, spent);
    }
    return rows[0]?.at ?? null;
  }

  /**
   * Postgres read its clock between our asking and now, which bounds the difference from both sides. An answer that was
   * long under way says little then, and doesn't spoil what quick ones have taught.
   */
  function learnClock(atMs: number, askedAtMs: number): void {
    clockOffsetMs = Math.min(Math.max(clockOffsetMs, atMs - steadyUnixMs()), atMs - askedAtMs);
  }

  async function close(): Promise<void> {
    await Promise.allSettled(underWay);
    await owed.close();
  }

  return { admit, close };
}

function isWaitedFor({ abandoned, signal }: PendingCall): boolean {
  return !abandoned && signal?.aborted !== true;
}

/** How many calls each account asks for. */
function callsOf(byAccount: Map<string, Group[]>): Record<string, number> {
  return Object.fromEntries(
    [...byAccount].map(([id, groups]) => [id, groups.reduce((sum, { ask }) => sum + ask.calls, 0)]),
  );
}

/** Errors with which a statement ends that was never sent. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'CONNECT_TIMEOUT']);

/** Whether a statement that failed may be committed all the same: it was too slow, or its connection lost before it said. */
function isInDoubt(error: unknown): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown };
  if (name === 'PostgresError') return code === ADMIN_SHUTDOWN || code === CRASH_SHUTDOWN;
  return !NEVER_SENT.has(String(code));
}

/** Asks Postgres; what it said is settled only when it has come in time. */
type Statement = (byAccount: Map<string, Group[]>, asks: Ask[], bounds: Bounds) => Promise<Settle>;

/** Tells the calls what was decided of them. @returns Postgres's clock while it did; null: it didn't say */
type Settle = () => Date | null;

function refusal({ included, periodEnd, untilPeriodEndS }: Spent): Admission {
  return {
    admitted: false,
    limit: included,
    resetAt: periodEnd,
    retryAfterS: Math.max(1, Math.ceil(untilPeriodEndS)),
  };
}
