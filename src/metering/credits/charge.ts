/**
 * The stages of a charge.
 *
 * 1. batch: calls that arrive while one is in flight share the next, which is one statement under a new id (charge-batch.ts)
 * 2. outcome: charged, rolled back, or unknown, because Postgres did not answer
 * 3. void: only of an unknown outcome; until Postgres has acknowledged it, nothing else is charged
 * 4. refund: of credits that the answer did not use; both are owed from then on (refund.ts)
 * 5. roll-up: counts charges by day, and refunds what is owed (rollup.ts)
 *
 * A call with a claim is charged alone, under the id of its sending (claim.ts).
 */

import { randomUUID } from 'node:crypto';
import { isRolledBack, type Sql } from '../../platform/postgres/connect.ts';
import { BATCH_TIMEOUT_MS, createBatcher } from '../../platform/runtime/batcher.ts';
import { type Bound, withTimeout } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';
import { createLockedAccounts } from '../accounts/locked.ts';
import type { Call, Charge, Claim } from './call.ts';
import { type ChargedBatch, chargeBatch as sendBatch } from './charge-batch.ts';
import { type ClaimEnd, createClaims, endClaim, releaseClaim, voidSending } from './claim.ts';
import { createLeft, type ReadLeft } from './left.ts';
import { MAX_CALLS, type Refund, refundCredits, voidAttempt } from './refund.ts';

export type Credits = ReturnType<typeof createCredits>;

/** Postgres has `charged` a batch, `failed` to charge or to void one, or acknowledged a void, a refund, or the end of a claim. */
export type LedgerEvent = 'charged' | 'failed' | 'voided' | 'refunded' | 'released';

export interface CreditsOptions {
  onEvent?: (event: LedgerEvent) => void;
  /** Voids and refunds, by id, that no longer reach Postgres because the service stops. Only so can credits be lost. */
  onLost?: (owed: Map<string, Call[]>) => void;
}

/** A void or a refund that Postgres did not acknowledge is sent again after this pause. */
const RETRY_AFTER_MS = 0.25 * SECOND;
/** Beyond so many empty counters all are forgotten. They cost about 1 MB. */
const MAX_EMPTY = 10_000;
/** An answer waits so long for its refund. */
const REFUND_WAIT_MS = 2 * SECOND;
const LEDGER = 'the credit ledger';
/** The charge of a sending that was charged nothing, so nothing comes back. */
const NOTHING_CHARGED = { spent: 0, isRepeated: false, async refund() {} };

/**
 * The one way to charge credits. A batch is one row of the ledger, with an id; a batch whose outcome is unknown is voided by
 * that id.
 *
 * One batch is in flight at a time. Two took Postgres a fifth more time for each call, and waited for each other's rows.
 */
export function createCredits(sql: Sql, { onEvent, onLost }: CreditsOptions = {}) {
  const enqueue = createBatcher(chargeBatch, { name: LEDGER, stage: 'credit', maxBatch: MAX_CALLS });
  /** A call with a claim is charged alone, because its charge has an id of its own. */
  const alone = { name: LEDGER, maxBatch: 1, maxConcurrentBatches: 4 };
  const enqueueAlone = createBatcher(chargeBatch, { ...alone, stage: 'credit' });
  let isClosed = false;
  /** Outcomes in doubt: voids that Postgres has not acknowledged. While there is one, nothing is charged. */
  let voids = 0;
  /** By id, the calls of the batch in flight, and those of voids and refunds that Postgres has not acknowledged. */
  const unsettled = new Map<string, Call[]>();
  /** Refunds wait as long as it takes. One batch is in flight, so that a Postgres that comes back meets no crowd of them. */
  const patient = { name: LEDGER, maxBatch: MAX_CALLS, queueTimeoutMs: Number.POSITIVE_INFINITY };
  const storeRefund = createBatcher(
    (refunds: Refund[], bound) => bound(refundCredits(sql, refunds)),
    patient,
  );
  const storeEnd = createBatcher(
    ([end]: (Claim | ClaimEnd)[], bound) =>
      bound('claim' in end! ? endClaim(sql, end) : releaseClaim(sql, end!)),
    { ...patient, ...alone },
  );
  const claimRequest = createClaims(sql, (claim) => void storeEnd(claim).catch(() => {}));
  const readLeft = createLeft(sql);
  /** Counters that were short at their latest charge. Their calls ask first, so that no batch fails because of them. */
  const empty = new Set<string>();
  /** Sendings whose claim has not ended. */
  const live = new Set<string>();
  const runForUnlocked = createLockedAccounts(sql);

  /**
   * Charges the credits of a call: included first, then purchased (specification, Credits 3). Durable before it returns, and
   * exact with any number of processes at once. An account with too few credits for a list is charged those it has.
   *
   * @throws when Postgres gave no answer within 2 s (4 s for a counter that was empty), an earlier batch is in doubt, or the client has left. The call costs nothing.
   */
  async function charge(call: Call): Promise<Charge> {
    if (call.claim?.earlier) {
      // The part of the earlier sending's charge that this one can use.
      const { kept, reason } = call.claim.earlier;
      const spent = Math.min(kept, call.credits);
      return { ...NOTHING_CHARGED, spent, reason: spent < call.credits ? reason : null, isRepeated: true };
    }
    const { accountId, keyId } = call;
    if (empty.has(accountId) || empty.has(keyId)) {
      throwUnlessOpen();
      const { reason } = await readLeft(call);
      if (reason !== null) return { ...NOTHING_CHARGED, reason };
      for (const id of [accountId, keyId]) empty.delete(id);
    }
    const charged = await (call.claim === undefined ? enqueue(call) : enqueueAlone(call));
    if (charged !== undefined) return charged;
    throw new Error(call.signal?.aborted ? 'the client has left' : 'the account is locked, or gone');
  }

  async function chargeBatch(calls: Call[], bound: Bound): Promise<(Charge | undefined)[]> {
    throwUnlessOpen();
    const claim = calls[0]?.claim;
    const attempt = claim?.sending ?? randomUUID();
    const present = calls.filter(({ signal }) => !signal?.aborted);
    unsettled.set(attempt, present);
    try {
      const run = (free: Call[]) => sendBatch(sql, free, attempt, bound);
      const [charged, [outcome]] = await runForUnlocked(present, bound, run);
      unsettled.delete(attempt);
      if (outcome === undefined) return [];
      onEvent?.('charged');
      const charges = chargesOf(attempt, charged, outcome);
      return calls.map((call) => charges.get(call));
    } catch (error) {
      onEvent?.('failed');
      // Postgres has answered that nothing was charged.
      if (isRolledBack(error)) unsettled.delete(attempt);
      else {
        // Nothing is charged until Postgres has acknowledged the void. It ends the claim, so nothing else may.
        voids += 1;
        live.delete(attempt);
        const sendVoid = () => (claim === undefined ? voidAttempt(sql, attempt) : voidSending(sql, claim));
        void settle('voided', attempt, () => withTimeout(sendVoid(), BATCH_TIMEOUT_MS, LEDGER));
      }
      throw error;
    }
  }

  function throwUnlessOpen(): void {
    if (isClosed) throw new Error('the service stops');
    if (voids > 0) throw new Error('the outcome of an earlier charge is unknown');
  }

  /**
   * Claims a request for a sending of it, and waits for another one to end (claim.ts). The end of each request is {@link release},
   * which does nothing if `refund` of its own charge has ended the claim.
   */
  async function claim(...asked: Parameters<typeof claimRequest>): Promise<Claim> {
    throwUnlessOpen();
    const claimed = await claimRequest(...asked);
    live.add(claimed.sending);
    return claimed;
  }

  /** Ends a claim whose sending was not charged. A claim that has ended stays as it is. */
  function release(claim: Claim): void {
    if (live.delete(claim.sending)) void settle('released', claim.sending, () => storeEnd(claim));
  }

  function chargesOf(attempt: string, calls: Call[], charged: ChargedBatch): Map<Call, Charge> {
    const { spent, short, reasons } = charged;
    const purchased = charged.purchased ?? {};
    if (empty.size > MAX_EMPTY) empty.clear();
    for (const id of short ?? []) if (id !== '') empty.add(id);
    const charges = new Map<Call, Charge>();
    for (const [index, call] of calls.entries()) {
      const counter = short?.[index];
      const reason = counter ? reasons?.[counter] : null;
      // An account that is gone got nothing, and has no quota either.
      if (reason === undefined) continue;
      const paid = { spent: spent?.[index] ?? call.credits, reason, isRepeated: false };
      const refund = async (credits: number) => {
        const { accountId, claim } = call;
        // Nearly every request uses all of its credits.
        if (credits === 0 && claim === undefined) return;
        // The purchased credits of the batch come back first.
        const back = Math.min(purchased[accountId] ?? 0, credits);
        purchased[accountId] = (purchased[accountId] ?? 0) - back;
        const part = { ...call, credits };
        const refund = { ...part, id: randomUUID(), attempt, purchased: back };
        if (claim === undefined) return sendRefund(refund.id, part, () => storeRefund(refund));
        live.delete(attempt);
        await sendRefund(refund.id, part, () => storeEnd({ claim, charged: paid, refund }));
      };
      charges.set(call, { ...paid, refund });
    }
    return charges;
  }

  /** Ends when the refund is stored, or after {@link REFUND_WAIT_MS}. */
  async function sendRefund(id: string, part: Call, send: () => Promise<unknown>): Promise<void> {
    // Only the claim ends: nobody waits for that but the next sending.
    if (part.credits === 0) return void settle('released', id, send);
    if (isClosed) return onLost?.(new Map([[id, [part]]]));
    unsettled.set(id, [part]);
    await withTimeout(settle('refunded', id, send), REFUND_WAIT_MS, LEDGER).catch(() => {});
  }

  /** Sends a statement until Postgres has acknowledged it. A void also detects that Postgres is back. */
  async function settle(event: 'voided' | 'refunded' | 'released', id: string, send: () => Promise<unknown>) {
    while (!isClosed) {
      try {
        await send();
        unsettled.delete(id);
        if (event === 'voided') voids -= 1;
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
    isClosed = true;
    if (unsettled.size > 0) onLost?.(unsettled);
  }

  /** The credits that an account and its key can spend now. */
  const left: ReadLeft = async (caller) => (await readLeft(caller)).credits;

  return { claim, release, charge, left, close };
}
