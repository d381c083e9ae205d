/** The limits of a key: a budget of credits, its rights, and its share of the account's rate. */
import { RIGHTS, type Right } from '../../http/right.ts';
import { RefusedError } from '../../platform/errors.ts';
import { isLockTimeout, type Sql, type Transaction } from '../../platform/postgres/connect.ts';
import { SECOND } from '../../platform/units.ts';
import { lockBalance } from '../accounts/locked.ts';

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

export const UNLIMITED: KeyLimits = { budget: null, only: null, requests_per_minute: null };

/** The largest budget. */
export const MAX_BUDGET = 1_000_000_000;

/** Rights in the order of {@link RIGHTS}, each once. */
export const inOrder = (rights: readonly Right[]): Right[] =>
  RIGHTS.filter((right) => rights.includes(right));

/** SQL: the limits of a row of `api_keys`, as the members of {@link KeyLimits}, with a {@link UsedBudget}. */
export const limitColumns = (sql: Sql | Transaction) => sql`
  (SELECT json_build_object('credits', c.included_credits, 'per', c.per, 'used', c.used,
      'resets', to_char(budget_end(c.per, c.period_start) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    FROM counters CROSS JOIN LATERAL counter_at(counters, now()) AS c
    WHERE counters.id = api_keys.id AND counters.included_credits IS NOT NULL) AS budget,
  rights AS "only", requests_per_minute`;

/** Sets the limits of a key that has just been made. */
export async function limitNewKey(
  sql: Transaction,
  key: { id: string; test: boolean },
  { budget, only, requests_per_minute }: KeyLimits,
): Promise<void> {
  if (budget !== null && key.test) refuseBudgetOfTestKey();
  const { credits, per } = budget ?? { credits: null, per: 'ever' };
  await sql`INSERT INTO counters (id, included_credits, per) VALUES (${key.id}, ${credits}, ${per})`;
  if (only !== null) await setRights(sql, key.id, only);
  await setShare(sql, key.id, requests_per_minute);
}

/**
 * Sets a key's share of the account's rate; `null` means none. A connection takes tokens of the bucket of all connections from then
 * on. One that was made before version 0.2.0 does not until then.
 */
export async function setShare(
  sql: Transaction,
  id: string,
  perMinute: KeyLimits['requests_per_minute'],
): Promise<void> {
  await sql`UPDATE api_keys SET requests_per_minute = ${perMinute}, shares_rate = is_connection WHERE id = ${id}`;
}

/** Sets the rights of a key; `null` means all. */
export async function setRights(sql: Transaction, id: string, only: Right[] | null): Promise<void> {
  const rights = only === null ? sql`NULL` : sql`${inOrder(only)}`;
  await sql`UPDATE api_keys SET rights = ${rights} WHERE id = ${id}`;
}

/** Limits as the ledger of events keeps them. */
export const limitDetail = ({ budget, only, requests_per_minute }: KeyLimits) => ({
  credits: budget?.credits ?? null,
  per: budget?.per ?? null,
  only: only && inOrder(only).join(' '),
  requests_per_minute,
});

export function refuseBudgetOfTestKey(): never {
  throw new RefusedError('a test key spends no credits, so it can have no budget');
}

/**
 * Sets or removes the budget of a key.
 *
 * Locks the balance before the budget, as a charge does. So no charge of the account is under way while the calls of the window are
 * counted, and refunds of these calls are known by `period_opened_at`. Calls that began before a first budget are charged without it: they
 * are counted once no such call is under way any more ({@link settleBudgets}).
 */
export async function setBudget(sql: Transaction, key: BudgetedKey, budget: Budget | null): Promise<void> {
  await lockBalance(sql, key.accountId);
  if (budget === null) {
    await sql`UPDATE counters SET included_credits = NULL WHERE id = ${key.id}`;
    return;
  }
  await sql`
    UPDATE counters SET per = ${budget.per}, included_credits = ${budget.credits},
      period_start = CASE WHEN per = ${budget.per} THEN period_start ELSE '-infinity' END,
      settles_at = CASE WHEN included_credits IS NULL THEN clock_timestamp() + ${SETTLE_MS}::float8 * interval '1 millisecond' ELSE settles_at END
    WHERE id = ${key.id}`;
  await countSpent(sql, key);
}

/** Counts first budgets once more, with the calls that did not know them. Idempotent; a locked account waits for the next time. */
export async function settleBudgets(sql: Sql): Promise<void> {
  const due = await sql<BudgetedKey[]>`
    SELECT id, account_id AS "accountId" FROM counters JOIN api_keys USING (id) WHERE settles_at < now()`;
  for (const key of due)
    await sql
      .begin(async (sql) => {
        await lockBalance(sql, key.accountId);
        await sql`UPDATE counters SET settles_at = NULL WHERE id = ${key.id}`;
        await countSpent(sql, key);
      })
      .catch((error) => {
        if (!isLockTimeout(error)) throw error;
      });
}

interface BudgetedKey {
  id: string;
  accountId: string;
}

/** A call is charged this long after its key was looked up, at most: the cache of callers 4 s, a claim 20, its list's turn 3 and reads 8, the charge 4 with the question before it. */
const SETTLE_MS = 40 * SECOND;

/** Sets what a key has spent in the present window of its budget. The balance is locked. */
const countSpent = (sql: Transaction, { id, accountId }: BudgetedKey) => sql`
  UPDATE counters SET period_start = present, period_opened_at = clock_timestamp(), used = coalesce((
    SELECT sum(calls) FROM calls_by_day
    WHERE account_id = ${accountId} AND key_id = ${id} AND day >= (present AT TIME ZONE 'UTC')::date), 0)
  FROM (SELECT greatest(budget_window(per, clock_timestamp()), period_start) AS present FROM counters WHERE id = ${id}) AS budget
  WHERE id = ${id}`;
