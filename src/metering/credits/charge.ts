/**
 * The stages of a charge.
 *
 * 1. batch: calls that arrive while one is in flight share the next, which is one statement under a new id (charge-batch.ts)
 * 2. outcome: charged, rolled back, or unknown, because Postgres did not answer
 * 3. void: only of an unknown outcome; until Postgres has acknowledged it, nothing else is charged (void.ts)
 * 4. refund: of credits that the answer did not use (refund.ts)
 * 5. roll-up: counts charges by day, and refunds what is owed (rollup.ts)
 *
 * A call with an identity is charged alone, and once for all its sendings (once.ts).
 */

import { randomUUID } from 'node:crypto';
import type { Sql } from '../../platform/postgres/connect.ts';
import { BATCH_TIMEOUT_MS, createBatcher } from '../../platform/runtime/batcher.ts';
import { type Bound, withTimeout } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';
import { createLockedAccounts } from '../accounts/locked.ts';
import type { Call, Charge } from './call.ts';
import { createBatchCharge } from './charge-batch.ts';
import { type ChargedBatch, paidOf } from './charge-calls.ts';
import { chargeOnce, refundSending } from './once.ts';
import { MAX_CALLS, type Refund, refundCredits } from './refund.ts';
import { isRolledBack, voidAttempt } from './void.ts';

export type Credits = ReturnType<typeof createCredits>;

/** Postgres has `charged` a batch, `failed` to charge or to void one, or acknowledged a void or a refund. */
export type LedgerEvent = 'charged' | 'failed' | 'voided' | 'refunded';

export interface CreditsOptions {
  onEvent?: (event: LedgerEvent) => void;
  /** Voids and refunds, by id, that no longer reach Postgres because the service stops. Only so can credits be lost. */
  onLost?: (owed: Map<string, Call[]>) => void;
}

/** The ledger charges calls while it is `open`. An unknown outcome puts it `in doubt`, until Postgres has acknowledged the void. */
type Mode = 'open' | 'in doubt' | 'closed';

interface SendingEnd {
  sending: string;
  /** Credits that the sending has used. */
  keeps: number;
}

/** A void or a refund that Postgres did not acknowledge is sent again after this pause. */
const RETRY_AFTER_MS = 0.25 * SECOND;
/** An answer waits so long for its refund. */
const REFUND_WAIT_MS = 2 * SECOND;
const LEDGER = 'the credit ledger';

/**
 * The one way to charge credits. A batch is one row of the ledger, with an id; a batch whose outcome is unknown is voided by
 * that id.
 *
 * One batch is in flight at a time. Two took Postgres a fifth more time for each call, and waited for each other's rows.
 */
export function createCredits(sql: Sql, { onEvent, onLost }: CreditsOptions = {}) {
  const enqueue = createBatcher(chargeBatch, { name: LEDGER, stage: 'credit', maxBatch: MAX_CALLS });
  /** A request with an identity is charged alone. */
  const enqueueAlone = createBatcher(([call]: Call[], bound) => chargeAlone(call!, bound), {
    name: LEDGER,
    stage: 'credit',
    maxBatch: 1,
    maxConcurrentBatches: 4,
  });
  let mode: Mode = 'open';
  /** By id, the calls of the batch in flight, and those of voids and refunds that Postgres has not acknowledged. */
  const unsettled = new Map<string, Call[]>();
  /** Refunds wait as long as it takes. One batch is in flight, so that a Postgres that comes back meets no crowd of them. */
  const patient = { name: LEDGER, maxBatch: MAX_CALLS, queueTimeoutMs: Number.POSITIVE_INFINITY };
  const storeRefund = createBatcher(
    (refunds: Refund[], bound) => bound(refundCredits(sql, refunds)),
    patient,
  );
  const endSending = createBatcher(
    ([end]: SendingEnd[], bound) => bound(refundSending(sql, end!.sending, end!.keeps)),
    { ...patient, maxBatch: 1, maxConcurrentBatches: 4 },
  );
  const runForUnlocked = createLockedAccounts(sql);
  const sendBatch = createBatchCharge(sql);

  /**
   * Charges the credits of a call: included first, then purchased (specification, Credits 3). Durable before it returns, and
   * exact with any number of processes at once. An account with too few credits for a list is charged those it has.
   *
   * @throws when Postgres gave no answer within 2 s, an earlier batch is in doubt, or the client has left. The call costs nothing.
   */
  async function charge(call: Call): Promise<Charge> {
    const charged = await (call.identity === undefined ? enqueue(call) : enqueueAlone(call));
    if (charged !== undefined) return charged;
    throw new Error(call.signal?.aborted ? 'the client has left' : 'the account is locked, or gone');
  }

  async function chargeBatch(calls: Call[], bound: Bound): Promise<(Charge | undefined)[]> {
    throwUnlessOpen();
    const attempt = randomUUID();
    const present = calls.filter(({ signal }) => !signal?.aborted);
    unsettled.set(attempt, present);
    try {
      const run = (free: Call[]) => sendBatch(free, attempt, bound);
      const [charged, [outcome]] = await runForUnlocked(present, bound, run);
      unsettled.delete(attempt);
      if (outcome === undefined) return [];
      onEvent?.('charged');
      const charges = chargesOf(attempt, charged, outcome);
      return calls.map((call) => charges.get(call));
    } catch (error) {
      if (isRolledBack(error)) failed(attempt);
      else doubt(attempt, () => voidAttempt(sql, attempt));
      throw error;
    }
  }

  function throwUnlessOpen(): void {
    if (mode === 'closed') throw new Error('the service stops');
    if (mode === 'in doubt') throw new Error('the outcome of an earlier charge is unknown');
  }

  /** Charges a call of which an earlier sending of its request may have been charged. */
  async function chargeAlone(call: Call, bound: Bound): Promise<(Charge | undefined)[]> {
    throwUnlessOpen();
    if (call.signal?.aborted) return [];
    const sending = randomUUID();
    unsettled.set(sending, [call]);
    try {
      const paid = await chargeOnce(sql, { call, sending, bound, runForUnlocked });
      unsettled.delete(sending);
      if (paid === undefined) return [];
      onEvent?.('charged');
      const { unused, ...charged } = paid;
      const refund = (credits: number) => {
        const back = { ...call, credits: credits + unused };
        return sendRefund(randomUUID(), back, () => endSending({ sending, keeps: paid.spent - credits }));
      };
      return [{ ...charged, refund }];
    } catch (error) {
      if (isRolledBack(error)) failed(sending);
      else doubt(sending, () => refundSending(sql, sending, 0));
      throw error;
    }
  }

  /** Postgres has answered that nothing was charged. */
  function failed(id: string): void {
    unsettled.delete(id);
    onEvent?.('failed');
  }

  /** The outcome of a charge is unknown. Nothing is charged until Postgres has acknowledged its void. */
  function doubt(id: string, sendVoid: () => PromiseLike<unknown>): void {
    if (mode === 'open') mode = 'in doubt';
    onEvent?.('failed');
    void settle('voided', id, () => withTimeout(sendVoid(), BATCH_TIMEOUT_MS, LEDGER));
  }

  function chargesOf(attempt: string, calls: Call[], charged: ChargedBatch): Map<Call, Charge> {
    const purchased = charged.purchased ?? {};
    const charges = new Map<Call, Charge>();
    for (const [index, call] of calls.entries()) {
      const paid = paidOf(call, charged, index);
      // The purchased credits of the batch come back first.
      const refund = async (credits: number) => {
        // Nearly every request uses all of its credits.
        if (credits === 0) return;
        const back = Math.min(purchased[call.accountId] ?? 0, credits);
        purchased[call.accountId] = (purchased[call.accountId] ?? 0) - back;
        const id = randomUUID();
        const part = { ...call, credits };
        await sendRefund(id, part, () => storeRefund({ ...part, id, attempt, purchased: back }));
      };
      if (paid !== undefined) charges.set(call, { ...paid, refund });
    }
    return charges;
  }

  /** Ends when the refund is stored, or after {@link REFUND_WAIT_MS}. */
  async function sendRefund(id: string, call: Call, send: () => Promise<unknown>): Promise<void> {
    if (call.credits === 0) return;
    if (mode === 'closed') return onLost?.(new Map([[id, [call]]]));
    unsettled.set(id, [call]);
    await withTimeout(settle('refunded', id, send), REFUND_WAIT_MS, LEDGER).catch(() => {});
  }

  /** Sends a statement until Postgres has acknowledged it. A void also detects that Postgres is back. */
  async function settle(event: 'voided' | 'refunded', id: string, send: () => Promise<unknown>) {
    while (mode !== 'closed') {
      try {
        await send();
        unsettled.delete(id);
        if (event === 'voided' && mode === 'in doubt') mode = 'open';
        return onEvent?.(event);
      } catch {
        if (event === 'voided') onEvent?.('failed');
        await Bun.sleep(RETRY_AFTER_MS);
      }
    }
  }

  /** Waits until no batch is in flight or in doubt, and no refund is on its way. Then nothing is charged any more. */
  async function close(timeoutMs: number): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    while (unsettled.size > 0 && performance.now() < endMs) await Bun.sleep(10);
    mode = 'closed';
    if (unsettled.size > 0) onLost?.(unsettled);
  }

  return { charge, close };
}
