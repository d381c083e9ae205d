import { randomUUID } from 'node:crypto';
import { LOCK_NOT_AVAILABLE, type Sql } from '../postgres/connect.ts';
import { BATCH_TIMEOUT_MS, createBatcher } from '../runtime/batch.ts';
import { withTimeout } from '../runtime/timeout.ts';
import { type Admission, type Call, type CallGroup, creditsOf, groupCalls } from './calls.ts';
import { type ChargedCall, createGiveBacks } from './give-back.ts';
import { type SpendResult, spendWithinPeriod, spendWithRollover } from './spend.ts';
import { RETRY_AFTER_MS, voidAttempts } from './void.ts';

export interface Credits {
  /**
   * Spends the credits of a call: included first, then purchased (specification, Credits 3). Durable before it
   * returns, and exact with any number of processes at once. An account with too few credits for a batch lookup is
   * charged those it has.
   *
   * @throws when Postgres gave no answer within 2 s, an earlier batch is in doubt, or the client has left. The call costs nothing.
   */
  admit(call: Call): Promise<Admission>;
  /**
   * Returns the credit of an admitted call that is answered 503 after all. It is tried until Postgres has acknowledged it;
   * the roll-up returns the credit some seconds later.
   */
  giveBack(call: ChargedCall): void;
  /** How long calls have been refused because the outcome of a batch is unknown, ms; 0: they are not. */
  inDoubtMs(): number;
  /** Waits until no batch is in flight or in doubt, and nothing is owed. */
  close(timeoutMs: number): Promise<void>;
}

/** A batch whose calls were answered 503, and whose outcome is unknown until its void is acknowledged. */
export interface DoubtfulBatch {
  /** UUIDs of its statements. */
  attempts: string[];
  /** How many credits it was to charge, by account. */
  calls: Record<string, number>;
}

export interface CreditsOptions {
  /** For tests: the instant that admissions count at. Absent: Postgres's clock (contract: credits). */
  instant?: () => Date;
  /** Called when Postgres has acknowledged a void: there may be credits to return. */
  onVoided?: () => void;
  /** Called when Postgres has acknowledged calls that were given back. */
  onGivenBack?: () => void;
  /** Called when the service stops before a void was acknowledged: the only way in which credits can be lost. */
  onLost?: (batch: DoubtfulBatch, error: unknown) => void;
}

/**
 * The one way to spend credits. Calls that arrive in one turn of the event loop share a batch, and one batch is in flight at
 * a time: what arrives while it commits shares the next. Two at once took Postgres a fifth more time for each call, and
 * waited for each other's rows.
 *
 * A batch is one row of the ledger, with an id. A batch whose outcome is unknown is voided by that id. Until Postgres has acknowledged
 * the void, calls are refused.
 */
export function createCredits(
  sql: Sql,
  { instant, onVoided, onGivenBack = () => {}, onLost }: CreditsOptions = {},
): Credits {
  const giveBacks = createGiveBacks(sql, onGivenBack);
  let inFlight: Promise<unknown> = Promise.resolve();
  let inDoubt: DoubtfulBatch | null = null;
  let inDoubtSinceMs = 0;
  let voiding: Promise<void> = Promise.resolve();
  let voidError: unknown = null;
  let isClosed = false;
  const enqueue = createBatcher(
    (calls: Call[]) => {
      const batch = runBatch(calls);
      inFlight = batch.catch(() => {});
      return batch;
    },
    { name: 'the credit ledger', batchTimeoutMs: null },
  );

  async function admit(call: Call): Promise<Admission> {
    refuseInDoubt();
    const admission = await enqueue(call);
    if (admission !== null) return admission;
    throw new Error(call.signal?.aborted ? 'the client has left' : 'the account is locked, or gone');
  }

  function refuseInDoubt(): void {
    if (inDoubt !== null) throw new Error('the outcome of an earlier charge is unknown');
  }

  /** @returns `null` for a call that was left alone: its client has left, or its account is locked or gone */
  async function runBatch(calls: Call[]): Promise<(Admission | null)[]> {
    refuseInDoubt();
    const groups = groupCalls(calls.filter(({ signal }) => !signal?.aborted));
    if (groups.length === 0) return calls.map(() => null);
    const attempts: string[] = [];
    let isOver = false;
    const beginAttempt = () => {
      if (isOver) throw new Error('the batch has failed');
      const attempt = randomUUID();
      attempts.push(attempt);
      return { attempt, instant: instant?.() ?? null };
    };
    try {
      const admissions = await withTimeout(
        charge(groups, beginAttempt),
        BATCH_TIMEOUT_MS,
        'the credit ledger',
      );
      return calls.map((call) => admissions.get(call) ?? null);
    } catch (error) {
      isOver = true;
      inDoubtSinceMs = performance.now();
      inDoubt = { attempts, calls: callsByAccount(groups) };
      voiding = voidUntilAcknowledged(attempts);
      throw error;
    }
  }

  /** A fast statement for accounts that can pay within their period, then a second one for the rest. */
  async function charge(
    groups: CallGroup[],
    beginAttempt: () => { attempt: string; instant: Date | null },
  ): Promise<Map<Call, Admission>> {
    const admissions = new Map<Call, Admission>();
    let rest: CallGroup[];
    let skipLocked = false;
    try {
      const first = beginAttempt();
      const unpaid = await spendWithinPeriod(sql, groups, first);
      const admission: Admission = { admitted: true, attempt: first.attempt };
      rest = groups.filter(({ accountId }) => unpaid.has(accountId));
      for (const { accountId, calls } of groups) {
        if (!unpaid.has(accountId)) for (const call of calls) admissions.set(call, admission);
      }
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      rest = groups;
      skipLocked = true;
    }
    if (rest.length === 0) return admissions;
    let second = beginAttempt();
    const results = await spendWithRollover(sql, rest, { ...second, skipLocked }).catch((error) => {
      if (skipLocked || !isLockTimeout(error)) throw error;
      second = beginAttempt();
      return spendWithRollover(sql, rest, { ...second, skipLocked: true });
    });
    for (const result of results) {
      distribute(rest[result.position - 1]!.calls, result, second.attempt, admissions);
    }
    return admissions;
  }

  /** The batch's calls have been answered 503 already; nothing else is charged meanwhile, so this is the probe, too. */
  async function voidUntilAcknowledged(attempts: string[]): Promise<void> {
    while (!isClosed) {
      try {
        await withTimeout(voidAttempts(sql, attempts), BATCH_TIMEOUT_MS, 'the credit ledger');
        inDoubt = null;
        onVoided?.();
        return;
      } catch (error) {
        voidError = error;
        await Bun.sleep(RETRY_AFTER_MS);
      }
    }
  }

  async function close(timeoutMs: number): Promise<void> {
    const settled = inFlight.then(() => voiding).then(() => giveBacks.settled());
    await withTimeout(settled, timeoutMs, 'the credit ledger').catch(() => {});
    isClosed = true;
    if (inDoubt !== null) onLost?.(inDoubt, voidError);
    const { owed, error } = giveBacks.stop();
    if (owed.length === 0) return;
    const calls: Record<string, number> = {};
    for (const { accountId } of owed) calls[accountId] = (calls[accountId] ?? 0) + 1;
    onLost?.({ attempts: owed.map(({ attempt }) => attempt), calls }, error);
  }

  return {
    admit,
    giveBack: giveBacks.add,
    inDoubtMs: () => (inDoubt === null ? 0 : performance.now() - inDoubtSinceMs),
    close,
  };
}

/** An operator's open transaction may hold one account. After the server's lock_timeout, the others go on without it. */
const isLockTimeout = (error: unknown) => (error as { code?: unknown }).code === LOCK_NOT_AVAILABLE;

/** Gives what was charged for a group to its calls, first come, first served. */
function distribute(
  calls: Call[],
  result: SpendResult,
  attempt: string,
  admissions: Map<Call, Admission>,
): void {
  const admitted: Admission = { admitted: true, attempt };
  const quota = {
    limit: result.included,
    resetAt: result.periodEnd,
    retryAfterS: Math.max(1, Math.ceil(result.untilPeriodEndS)),
  };
  let left = result.admitted;
  for (const call of calls) {
    const spent = Math.min(left, creditsOf(call));
    left -= spent;
    const refused: Admission = { admitted: false, spent, attempt, ...quota };
    admissions.set(call, spent === creditsOf(call) ? admitted : refused);
  }
}

function callsByAccount(groups: CallGroup[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { accountId, credits } of groups) sums[accountId] = (sums[accountId] ?? 0) + credits;
  return sums;
}
