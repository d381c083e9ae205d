import type { Sql } from '../../platform/postgres/connect.ts';
import { entriesOf } from './activity.ts';
import type { Call, Charge, Quota, SpentBudget } from './call.ts';
import { CHARGES } from './charge-sql.ts';

/** The outcome of {@link chargeCalls}. */
export interface ChargedBatch {
  /** Credits of each call, in their order; `null` means that each got all that it needs. */
  spent: number[] | null;
  /** The purchased ones among them, by account; `null` means none. */
  purchased: Record<string, number> | null;
  /** The quotas of the accounts that got less than they need, at the instant of the charge; `null` means none. */
  quotas: Record<string, Quota> | null;
  /** Credits that are left, by account, if a call asked for it; an account that had none is missing. */
  left: Record<string, number> | null;
  /** Whether each call got less than it needs because of its key's budget; absent means that none did. */
  ofKey?: boolean[];
  /** The budgets of the batch's keys, by key. */
  budgets?: Record<string, SpentBudget> | null;
  /** Credits that are left of them, by key. */
  budgetsLeft?: Record<string, number> | null;
}

/**
 * Charges each account for its calls, as far as its credits suffice, and the budgets of their keys: included ones first
 * (specification, Credits 2 to 4), then purchased ones, if it spends them (`account limits --spend-purchased`). Its earlier calls are
 * served first. An account with nothing to spend is not updated.
 *
 * Rows are updated, and so locked, in the order of the accounts' ids, so two such statements never deadlock. The planner
 * settings of `pointQueries` (src/platform/postgres/connect.ts) leave no other plan. If a concurrent statement has changed a row,
 * Postgres evaluates the `SET` and the `WHERE` again on the new version.
 *
 * @param attempt UUID of this charge. It becomes the primary key of its row in the journal, so it can be voided
 */
export function chargeCalls(sql: Sql, calls: Call[], attempt: string) {
  const parameters = [
    attempt,
    calls.map(({ accountId }) => accountId),
    calls.map(({ keyId }) => keyId),
    calls.map(({ kind }) => kind),
    calls.map(({ credits }) => credits),
    calls.some(({ wantsLeft }) => wantsLeft),
    entriesOf(calls),
  ];
  const limited = calls.filter(({ hasBudget }) => hasBudget).map(({ keyId }) => keyId);
  const [statement, budgets] =
    limited.length === 0 ? [CHARGES.calls, []] : [CHARGES.callsWithBudgets, [limited]];
  return sql.unsafe<ChargedBatch[]>(statement, [...parameters, ...budgets], { prepare: true });
}

/**
 * The part of the batch's call at this index.
 * @returns undefined for an account that is gone: it got nothing, and has no quota either
 */
export function paidOf(
  { accountId, keyId, credits, wantsLeft }: Call,
  charged: ChargedBatch,
  index = 0,
): Omit<Charge, 'refund'> | undefined {
  const spent = charged.spent?.[index] ?? credits;
  const budget = charged.ofKey?.[index] ? (charged.budgets?.[keyId] ?? null) : null;
  const quota = spent < credits && budget === null ? charged.quotas?.[accountId] : null;
  if (quota === undefined) return undefined;
  const left = Math.min(
    charged.left?.[accountId] ?? 0,
    charged.budgetsLeft?.[keyId] ?? Number.POSITIVE_INFINITY,
  );
  return { spent, quota, budget, isRepeated: false, left: wantsLeft ? left : null };
}
