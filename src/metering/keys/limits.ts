/** The limits of a key: a budget of credits, its rights, and its share of the account's rate. */
import { RIGHTS, type Right } from '../../http/right.ts';
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

/** What is left of a budget. A budget that was lowered may have been overspent. */
export const budgetCreditsLeft = ({ credits, used }: UsedBudget): number => Math.max(0, credits - used);

export interface KeyLimits {
  /** `null` means that the account's credits are its only bound. */
  budget: Budget | null;
  /** `null` means all, those that come later, too. */
  only: Right[] | null;
  /** The most requests a minute, of those of the account; `null` means that it has no share. Named as in `GET /key`. */
  requests_per_minute: number | null;
}

/** Limits with the present window of the budget. */
export interface PresentLimits extends KeyLimits {
  budget: UsedBudget | null;
}

/** Limits of which some are not given. */
export type GivenLimits = { [limit in keyof KeyLimits]?: KeyLimits[limit] | undefined };

export const UNLIMITED: KeyLimits = { budget: null, only: null, requests_per_minute: null };

/** The largest budget. */
export const MAX_BUDGET = 1_000_000_000;

/** Rights in the order of {@link RIGHTS}, each once. */
export const inOrder = (rights: readonly Right[]): Right[] =>
  RIGHTS.filter((right) => rights.includes(right));

/** SQL: the limits of a row of `api_keys`, as {@link PresentLimits}. */
export const limitColumns = (sql: Sql | Transaction) => sql`
  (SELECT json_build_object('credits', c.included_credits, 'per', c.per, 'used', c.used,
      'resets', to_char(budget_end(c.per, c.period_start) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    FROM counters CROSS JOIN LATERAL counter_at(counters, now()) AS c
    WHERE counters.id = api_keys.id AND counters.included_credits IS NOT NULL) AS budget,
  rights AS "only", requests_per_minute`;

/** Limits as the ledger of events keeps them. */
export const limitDetail = ({ budget, only, requests_per_minute }: KeyLimits) => ({
  credits: budget?.credits ?? null,
  per: budget?.per ?? null,
  only: only && inOrder(only).join(' '),
  requests_per_minute,
});
