import { randomUUID } from 'node:crypto';
import type { PendingQuery, Row } from 'postgres';
import { LOCK_NOT_AVAILABLE, type Sql } from '../postgres/connect.ts';
import { BATCH_TIMEOUT_MS, createBatcher } from '../runtime/batch.ts';
import { batchTotals } from '../runtime/batch-totals.ts';
import { withTimeout } from '../runtime/timeout.ts';
import type { Admission, Call } from './calls.ts';
import { chargeCalls, findUnlocked, readQuotas } from './spend.ts';
import { giveBackCall, voidAttempt } from './void.ts';

export interface Credits {
  /**
   * Spends the credits of a call: included first, then purchased (specification, Credits 3). Durable before it
   * returns, and exact with any number of processes at once. An account with too few credits for a batch lookup is
   * charged those it has.
   *
   * @throws when Postgres gave no answer within 2 s, an earlier batch is in doubt, or the client has left. The call costs nothing.
   */
  admit(call: Call): Promise<Admission>;
  /** How long calls have been refused because the outcome of a batch is unknown, ms; 0: they are not. */
  inDoubtMs(): number;
  /** Waits until no batch is in flight or in doubt, and no credit is owed. */
  close(timeoutMs: number): Promise<void>;
}

/** Credits that were to be returned when the service stopped. */
export interface OwedCredits {
  /** UUIDs of the batches that were to be voided, and of the returned calls. */
  attempts: string[];
  /** How many credits, by account. */
  calls: Record<string, number>;
}

export interface CreditsOptions {
  /** For tests: the instant that admissions count at. Absent: Postgres's clock (contract: credits). */
  instant?: () => Date;
  /** Called when Postgres has acknowledged the void of a batch, or a returned call: there are credits to return. */
  onAcknowledged?: (what: 'batch' | 'call') => void;
  /** Called when the service stops before that: the only way in which credits can be lost. */
  onLost?: (owed: OwedCredits, error: unknown) => void;
}

/** A void or a returned call that Postgres did not acknowledge is sent again after this pause. */
const RETRY_AFTER_MS = 250;
const LEDGER = 'the credit ledger';

/**
 * The one way to spend credits. Calls that arrive in one turn of the event loop share a batch, and one batch is in flight at
 * a time: what arrives while it commits shares the next. Two at once took Postgres a fifth more time for each call, and
 * waited for each other's rows.
 *
 * A batch is one row of the ledger, with an id. A batch whose outcome is unknown is voided by that id. Until Postgres has acknowledged
 * the void, calls are refused.
 */
export function createCredits(sql: Sql, options: CreditsOptions = {}): Credits {
  const { instant = () => null, onAcknowledged, onLost } = options;
  const enqueue = createBatcher(chargeBatch, { name: LEDGER, totals: batchTotals.credit });
  /** The calls of voids and returned calls that Postgres has not acknowledged, by id. */
  const owed = new Map<string, Call[]>();
  let inDoubtSinceMs: number | null = null;
  let givingBack: Promise<void> = Promise.resolve();
  let running = 0;
  let isClosed = false;
  let lastError: unknown = null;

  async function admit(call: Call): Promise<Admission> {
    running += 1;
    try {
      const admission = await enqueue(call);
      if (admission !== null) return admission;
      throw new Error(call.signal?.aborted ? 'the client has left' : 'the account is locked, or gone');
    } finally {
      running -= 1;
    }
  }

  async function chargeBatch(calls: Call[]): Promise<(Admission | null)[]> {
    if (inDoubtSinceMs !== null) throw new Error('the outcome of an earlier charge is unknown');
    const present = calls.filter(({ signal }) => !signal?.aborted);
    if (present.length === 0) return calls.map(() => null);
    const attempt = randomUUID();
    try {
      const admissions = await charge(attempt, present);
      return calls.map((call) => admissions.get(call) ?? null);
    } catch (error) {
      inDoubtSinceMs = performance.now();
      owed.set(attempt, present);
      void settle('batch', attempt, () => voidAttempt(sql, attempt));
      throw error;
    }
  }

  /** @returns nothing for a call whose account is locked or gone */
  async function charge(attempt: string, calls: Call[]): Promise<Map<Call, Admission>> {
    const deadlineMs = performance.now() + BATCH_TIMEOUT_MS;
    const within = <Rows extends Row[]>(query: PendingQuery<Rows>) =>
      withTimeout(query, deadlineMs - performance.now(), LEDGER);
    const at = instant();
    let free = calls;
    const [charged] = await within(chargeCalls(sql, calls, attempt, at)).catch(async (error) => {
      if (error.code !== LOCK_NOT_AVAILABLE) throw error;
      // An operator's open transaction holds an account. Nothing was charged yet, and the others go on without it.
      const unlocked = new Set((await within(findUnlocked(sql, idsOf(calls)))).map(({ id }) => id));
      free = calls.filter(({ accountId }) => unlocked.has(accountId));
      return within(chargeCalls(sql, free, attempt, at));
    });
    // `null` means that all calls were charged. Only an answer that is present may say so.
    if (charged === undefined) throw new Error('the credit ledger gave no answer');
    const spent = charged.spent ?? free.map(({ credits }) => credits);
    const purchased = charged.purchased ?? {};
    const short = free.filter((call, index) => spent[index]! < call.credits);
    const quotas = short.length === 0 ? [] : await within(readQuotas(sql, idsOf(short), at));
    const quotaOf = new Map(quotas.map(({ id, ...quota }) => [id, quota]));
    const admissions = new Map<Call, Admission>();
    for (const [index, call] of free.entries()) {
      const admission = { spent: spent[index]!, giveBack: () => giveBack(call, attempt, purchased) };
      const quota = quotaOf.get(call.accountId);
      if (admission.spent === call.credits) admissions.set(call, { admitted: true, ...admission });
      else if (quota !== undefined) admissions.set(call, { admitted: false, ...admission, ...quota });
    }
    return admissions;
  }

  /**
   * One after another, so that a Postgres that comes back meets no crowd of them.
   * @param purchased the purchased credits among those of the batch, by account: they come back first
   */
  function giveBack(call: Call, attempt: string, purchased: Record<string, number>): void {
    const id = randomUUID();
    const left = purchased[call.accountId] ?? 0;
    if (left > 0) purchased[call.accountId] = left - 1;
    owed.set(id, [{ ...call, credits: 1 }]);
    const query = () => giveBackCall(sql, id, call, attempt, left > 0);
    givingBack = givingBack.then(() => settle('call', id, query));
  }

  /** Sends a statement until Postgres has acknowledged it. While a batch is in doubt nothing else is charged, so this is the probe, too. */
  async function settle(what: 'batch' | 'call', id: string, query: () => PendingQuery<Row[]>): Promise<void> {
    while (!isClosed) {
      try {
        await withTimeout(query(), BATCH_TIMEOUT_MS, LEDGER);
        owed.delete(id);
        if (what === 'batch') inDoubtSinceMs = null;
        onAcknowledged?.(what);
        return;
      } catch (error) {
        lastError = error;
        await Bun.sleep(RETRY_AFTER_MS);
      }
    }
  }

  async function close(timeoutMs: number): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    while ((running > 0 || owed.size > 0) && performance.now() < endMs) await Bun.sleep(10);
    isClosed = true;
    if (owed.size === 0) return;
    const calls: Record<string, number> = {};
    for (const call of [...owed.values()].flat()) {
      calls[call.accountId] = (calls[call.accountId] ?? 0) + call.credits;
    }
    onLost?.({ attempts: [...owed.keys()], calls }, lastError);
  }

  return {
    admit,
    inDoubtMs: () => (inDoubtSinceMs === null ? 0 : performance.now() - inDoubtSinceMs),
    close,
  };
}

const idsOf = (calls: Call[]): string[] => [...new Set(calls.map(({ accountId }) => accountId))];
