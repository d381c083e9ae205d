import type { CallKind } from '../../http/call-kind.ts';
import { MINUTE } from '../../platform/units.ts';
import type { Budget } from '../keys/limits.ts';

/** A request that is sent again within this time is not charged again (docs/api.md: Idempotency-Key). */
export const REPEAT_WINDOW_MS = 10 * MINUTE;

/** The account and the key of a call. */
export interface Owner {
  accountId: string;
  /** '' for a call made in the dashboard. */
  keyId: string;
}

/** A request that needs credits: a single call one, a list one for each of its items. */
export interface Call extends Owner {
  kind: CallKind;
  credits: number;
  /**
   * Aborted when the client disconnects. A call whose batch has not started by then is free. Bun aborts it, too, when the
   * client pipelines another request on the same connection.
   */
  signal?: AbortSignal;
  /** The claim of a request that is charged once, however often it is sent (claim.ts); absent for every other. */
  claim?: Claim | undefined;
  /** Whether the key may have a budget. Then its counter is charged, too. */
  hasBudget?: boolean | undefined;
  /** Its entry in the account's activity (src/metering/credits/activity.ts); absent: none. */
  activity?: string | undefined;
}

/** An allowance that is used up, and when it is available again. */
export interface Quota {
  /** The included allowance of the period, credits. */
  limit: number;
  /** An instant, as Postgres writes it in JSON. */
  resetAt: string;
  /** Whole seconds until then by Postgres's clock, at least 1. */
  retryAfterS: number;
}

/** A budget of a key that is used up, and when it is available again. */
export interface SpentBudget extends Budget {
  /** The end of the window, as Postgres writes it in JSON; `null` means that there is none. */
  resetAt: string | null;
  /** Whole seconds until then by Postgres's clock, at least 1. */
  retryAfterS: number | null;
}

/** Why a call gets fewer credits than it needs: of its account, or of its key if that has fewer left. */
export type Shortage = Quota | SpentBudget;

/** The claim of a sending, which is ended once: by a refund of its own charge, or else by a release. */
export interface Claim {
  /** UUID made from the request. */
  request: string;
  /** UUID of the sending, and of its charge. */
  sending: string;
  /** What an earlier sending was charged and has kept; `null` means that the request is to be charged. */
  earlier: Earlier | null;
}

interface Earlier {
  kept: number;
  /** Why it got fewer credits than it needs, as it is now. Another key is told nothing of a budget. */
  reason: Shortage | null;
}

/** The ledger's answer to one call. */
export interface Charge {
  /** Credits of the call that are paid, by this or an earlier sending of the request. */
  spent: number;
  /** Why it got fewer credits than it needs. `null` means that it got all, or that an earlier sending needed less. */
  reason: Shortage | null;
  /** Whether an earlier sending of the request was charged, and this one was not. */
  isRepeated: boolean;
  /**
   * Refunds some of these credits, because the items that they paid for are answered 503. The roll-up pays them out some seconds
   * later. Credits that another sending of the request has used stay. Call it once, at the end of every request, with 0 if all
   * credits were used.
   * @returns when the refund is stored, or after 2 s; then it is tried until Postgres has acknowledged it
   */
  refund(credits: number): Promise<void>;
}
