/** The limits of a key: a budget of credits, and its rights. */
import { RIGHTS, type Right } from '../../http/right.ts';
import { RefusedError } from '../../platform/errors.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';

/** The windows of a budget. A day and a month are of UTC, by Postgres's clock; `ever` has no end. */
export const BUDGET_PERIODS = ['day', 'month', 'ever'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** The most credits that a key can spend in a window. */
export interface Budget {
  credits: number;
  per: BudgetPeriod;
}

/** A budget with its present window. */
export interface UsedBudget extends Budget {
  /** Credits that the key has spent in the window. */
  used: number;
  /** The end of the window, RFC 3339; `null` means that there is none. */
  resets: string | null;
}

export interface KeyLimits {
  /** `null` means that the account's credits are its only bound. */
  budget: Budget | null;
  /** `null` means all, those that come later, too. */
  only: Right[] | null;
}

/** The largest budget. */
export const MAX_BUDGET = 1_000_000_000;

/** Rights in the order of {@link RIGHTS}, each once. */
export const inOrder = (rights: readonly Right[]): Right[] =>
  RIGHTS.filter((right) => rights.includes(right));

/** SQL: the limits of a row of `api_keys`, as the members `budget` ({@link UsedBudget}) and `only`. */
export const limitColumns = (sql: Sql | Transaction) => sql`
  (SELECT json_build_object('credits', credits, 'per', per,
      'used', CASE WHEN budget_window(per, now()) > window_start THEN 0 ELSE used END,
      'resets', to_char(budget_end(per, greatest(window_start, budget_window(per, now()))) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    FROM key_budgets WHERE key_id = api_keys.id AND credits IS NOT NULL) AS budget,
  rights AS "only"`;

/** Sets the limits of a key that has just been made. */
export async function limitNewKey(
  sql: Transaction,
  key: { id: string; accountId: string; test: boolean },
  { budget, only }: KeyLimits,
): Promise<void> {
  if (budget !== null && key.test) refuseBudgetOfTestKey();
  await sql`INSERT INTO key_budgets (key_id) VALUES (${key.id})`;
  if (budget !== null) await setBudget(sql, key, budget);
  if (only !== null) await setRights(sql, key.id, only);
}

/** Sets the rights of a key; `null` means all. */
export async function setRights(sql: Transaction, id: string, only: Right[] | null): Promise<void> {
  const rights = only === null ? sql`NULL` : sql`${inOrder(only)}`;
  await sql`UPDATE api_keys SET rights = ${rights} WHERE id = ${id}`;
}

/** Limits as the ledger of events keeps them. */
export const limitDetail = ({ budget, only }: KeyLimits) => ({
  credits: budget?.credits ?? null,
  per: budget?.per ?? null,
  only: only && inOrder(only).join(' '),
});

export function refuseBudgetOfTestKey(): never {
  throw new RefusedError('a test key spends no credits, so it can have no budget');
}

/**
 * Sets or removes the budget of a key.
 *
 * Locks the balance before the budget, as a charge does. So no charge of the account is under way while the calls of the window are
 * counted, and refunds of these calls are known by `counted_at`.
 */
export async function setBudget(
  sql: Transaction,
  { id, accountId }: { id: string; accountId: string },
  budget: Budget | null,
): Promise<void> {
  await sql`SELECT FROM balances WHERE account_id = ${accountId} FOR NO KEY UPDATE`;
  if (budget === null) {
    await sql`UPDATE key_budgets SET credits = NULL WHERE key_id = ${id}`;
    return;
  }
  const { credits, per } = budget;
  await sql`
    INSERT INTO key_budgets AS known (key_id, credits, per, window_start, used)
    SELECT ${id}, ${credits}, ${per}, window_start, coalesce((
      SELECT sum(calls) FROM calls_by_day
      WHERE account_id = ${accountId} AND key_id = ${id} AND day >= (window_start AT TIME ZONE 'UTC')::date), 0)
    FROM (
      SELECT greatest(budget_window(${per}, clock_timestamp()),
        (SELECT window_start FROM key_budgets WHERE key_id = ${id} AND per = ${per})) AS window_start) AS present
    ON CONFLICT (key_id) DO UPDATE SET credits = excluded.credits, per = excluded.per,
      window_start = excluded.window_start, used = excluded.used, counted_at = excluded.counted_at`;
}
