import type { Sql } from '../../platform/postgres/connect.ts';
import { entriesOf } from './activity.ts';
import type { Call, Charge, Shortage } from './call.ts';

/** The outcome of a charge. An absent or `null` member means none. Counters are named by the ids of their accounts and keys. */
export interface ChargedBatch {
  /** Credits of each call, in their order; otherwise each got all that it needs. */
  spent?: number[];
  /** Of each call that got less than it needs the counter that had too little, otherwise ''. */
  short?: string[];
  /** Why these refuse, at the instant of the charge. An account that is gone is missing. */
  reasons?: Record<string, Shortage> | null;
  /** Purchased credits that were spent. */
  purchased: Record<string, number> | null;
  /** Credits that are left, if a call asked for it. */
  left: Record<string, number> | null;
}

const CHARGE_IN_TURN = `
  SELECT spent, short, reasons, purchased, "left" FROM charge_in_turn($1, $2, $3, $4, $5, $6, $7)`;

/** The calls of a batch, as parameters. */
export const arraysOf = (calls: Call[]) => [
  calls.map(({ accountId }) => accountId),
  calls.map(({ keyId }) => keyId),
  calls.map(({ kind }) => kind),
  calls.map(({ credits }) => credits),
];

/**
 * The keys of a batch whose counters are charged, too, for all their calls: one that did not know the first budget of its key yet counts
 * with those that did, because the row of the batch names the key.
 */
export const limitedKeys = (calls: Call[]): Set<string> =>
  new Set(calls.filter(({ hasBudget }) => hasBudget).map(({ keyId }) => keyId));

/**
 * Charges calls one after another, as far as the credits of their accounts suffice and the budgets of their keys: included credits first
 * (specification, Credits 2 to 4), then purchased ones, if the account spends them (`account limits --spend-purchased`). Opens windows that
 * have ended (0014_counters.sql).
 *
 * @param attempt UUID of this charge. It becomes the primary key of its row in the journal, so it can be voided
 */
export function chargeCalls(sql: Sql, calls: Call[], attempt: string) {
  const parameters = [attempt, ...arraysOf(calls), [...limitedKeys(calls)], entriesOf(calls)];
  return sql.unsafe<ChargedBatch[]>(CHARGE_IN_TURN, parameters, { prepare: true });
}

/**
 * The part of the batch's call at this index.
 * @returns undefined for an account that is gone: it got nothing, and has no quota either
 */
export function paidOf(
  { accountId, keyId, credits, wantsLeft }: Call,
  { spent, short, reasons, left }: ChargedBatch,
  index: number,
): Omit<Charge, 'refund'> | undefined {
  const counter = short?.[index];
  const reason = counter ? reasons?.[counter] : null;
  if (reason === undefined) return undefined;
  return {
    spent: spent?.[index] ?? credits,
    reason,
    isRepeated: false,
    left: wantsLeft ? Math.min(left![accountId]!, left![keyId] ?? Number.POSITIVE_INFINITY) : null,
  };
}
