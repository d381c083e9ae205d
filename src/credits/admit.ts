import { randomUUID } from 'node:crypto';
import { LOCK_NOT_AVAILABLE, type Sql } from '../postgres/connect.ts';
import { BATCH_TIMEOUT_MS, createBatcher } from '../runtime/batch.ts';
import { batchTotals } from '../runtime/batch-totals.ts';
import { type Bound, withTimeout } from '../runtime/timeout.ts';
import type { Admission, Call } from './calls.ts';
import { chargeCalls, findUnlocked, readQuotas } from './spend.ts';
import { giveBackCall, voidAttempt } from './void.ts';

export type Credits = ReturnType<typeof createCredits>;

export interface CreditsOptions {
  /** Called when Postgres has acknowledged the void of a batch, or a returned call: there are credits to return. */
  onAcknowledged?: (what: 'batch' | 'call') => void;
  /**
   * Called when the service stops before that: the only way in which credits can be lost.
   * @param owed the UUIDs of the batches and of the returned calls, and how many credits, by account
   */
  onLost?: (owed: { attempts: string[]; calls: Record<string, number> }) => void;
}

/** A void or a returned call that Postgres did not acknowledge is sent again after this pause. */
const RETRY_AFTER_MS = 250;
const LEDGER = 'the credit ledger';

/**
 * The one way to spend credits. A batch is one row of the ledger, with an id; a batch whose outcome is unknown is voided by
 * that id. Until Postgres has acknowledged the void, calls are refused.
 *
 * One batch is in flight at a time. Two took Postgres a fifth more time for each call, and waited for each other's rows.
 */
export function createCredits(sql: Sql, { onAcknowledged, onLost }: CreditsOptions = {}) {
  const enqueue = createBatcher(chargeBatch, { name: LEDGER, totals: batchTotals.credit });
  /** By id, the calls of the batch in flight, and those of voids and returned calls that Postgres has not acknowledged. */
  const unsettled = new Map<string, Call[]>();
  let inDoubtSinceMs: number | null = null;
  let givingBack: Promise<void> = Promise.resolve();
  let isClosed = false;

  /**
   * Spends the credits of a call: included first, then purchased (specification, Credits 3). Durable before it returns, and
   * exact with any number of processes at once. An account with too few credits for a batch lookup is charged those it has.
   *
   * @throws when Postgres gave no answer within 2 s, an earlier batch is in doubt, or the client has left. The call costs nothing.
   */
  async function admit(call: Call): Promise<Admission> {
    const admission = await enqueue(call);
    if (admission !== undefined) return admission;
    throw new Error(call.signal?.aborted ? 'the client has left' : 'the account is locked, or gone');
  }

  async function chargeBatch(calls: Call[], bound: Bound): Promise<(Admission | undefined)[]> {
    if (isClosed) throw new Error('the service stops');
    if (inDoubtSinceMs !== null) throw new Error('the outcome of an earlier charge is unknown');
    const attempt = randomUUID();
    const present = calls.filter(({ signal }) => !signal?.aborted);
    unsettled.set(attempt, present);
    try {
      const admissions = await charge(attempt, present, bound);
      unsettled.delete(attempt);
      return calls.map((call) => admissions.get(call));
    } catch (error) {
      inDoubtSinceMs = performance.now();
      void settle('batch', attempt, () => voidAttempt(sql, attempt));
      throw error;
    }
  }

  /** @returns nothing for a call whose account is locked or gone */
  async function charge(attempt: string, calls: Call[], bound: Bound): Promise<Map<Call, Admission>> {
    let free = calls;
    const [charged] = await bound(chargeCalls(sql, calls, attempt)).catch(async (error) => {
      if (error.code !== LOCK_NOT_AVAILABLE) throw error;
      // An operator's open transaction holds an account. Nothing was charged yet, and the others go on without it.
      const unlocked = new Set((await bound(findUnlocked(sql, idsOf(calls)))).map(({ id }) => id));
      free = calls.filter(({ accountId }) => unlocked.has(accountId));
      return bound(chargeCalls(sql, free, attempt));
    });
    const spent = charged!.spent ?? free.map(({ credits }) => credits);
    const purchased = charged!.purchased ?? {};
    const short = free.filter((call, index) => spent[index]! < call.credits);
    const quotas = short.length === 0 ? [] : await bound(readQuotas(sql, idsOf(short)));
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
    unsettled.set(id, [{ ...call, credits: 1 }]);
    const query = () => giveBackCall(sql, id, call, attempt, left > 0);
    givingBack = givingBack.then(() => settle('call', id, query));
  }

  /** Sends a statement until Postgres has acknowledged it. While a batch is in doubt nothing else is charged, so this is the probe, too. */
  async function settle(what: 'batch' | 'call', id: string, query: () => ReturnType<typeof voidAttempt>) {
    while (!isClosed) {
      try {
        await withTimeout(query(), BATCH_TIMEOUT_MS, LEDGER);
        unsettled.delete(id);
        if (what === 'batch') inDoubtSinceMs = null;
        onAcknowledged?.(what);
        return;
      } catch {
        await Bun.sleep(RETRY_AFTER_MS);
      }
    }
  }

  /** Waits until no batch is in flight or in doubt, and no credit is to be returned. Then nothing is charged any more. */
  async function close(timeoutMs: number): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    while (unsettled.size > 0 && performance.now() < endMs) await Bun.sleep(10);
    isClosed = true;
    if (unsettled.size === 0) return;
    const calls: Record<string, number> = {};
    for (const { accountId, credits } of [...unsettled.values()].flat()) {
      calls[accountId] = (calls[accountId] ?? 0) + credits;
    }
    onLost?.({ attempts: [...unsettled.keys()], calls });
  }

  /** How long calls have been refused because the outcome of a batch is unknown, ms; 0: they are not. */
  const inDoubtMs = () => (inDoubtSinceMs === null ? 0 : performance.now() - inDoubtSinceMs);

  return { admit, inDoubtMs, close };
}

const idsOf = (calls: Call[]): string[] => [...new Set(calls.map(({ accountId }) => accountId))];
