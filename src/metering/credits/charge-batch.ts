import { codeOf } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { entriesOf } from './activity.ts';
import type { Call, Shortage } from './call.ts';

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
}

/** The code of `raise_allowance_short`. This error is an answer: Postgres has rolled the statement back, and nothing was charged. */
const SHORT = 'U0001';

/** SQL: what a counter's window includes, as `included_of`, and what it can still pay, without a call of a function. */
const includedOf = (row: string) => `
  coalesce(${row}.included_credits, CASE ${row}.period_plan WHEN 'plus' THEN plan.plus WHEN 'free' THEN plan.free ELSE 9007199254740991 END)`;
export const leftOf = (row: string) =>
  `greatest(${includedOf(row)} - ${row}.used, 0) + CASE WHEN ${row}.spend_purchased THEN ${row}.credits ELSE 0 END`;
/** SQL: purchased credits among those wanted. */
const TAKEN = `greatest(least(wanted.credits, c.used + wanted.credits - ${includedOf('c')}), 0)`;

/** SQL: the one row that {@link leftOf} reads of the plans. */
export const PLAN = `plan AS MATERIALIZED (
    SELECT max(included_credits) FILTER (WHERE name = 'plus') AS plus, max(included_credits) FILTER (WHERE name = 'free') AS free FROM plans
  )`;

const CHARGE_AT_ONCE = `
  WITH ${PLAN}, debited AS (
    UPDATE counters c SET used = c.used + wanted.credits, used_purchased = c.used_purchased + ${TAKEN}, credits = c.credits - ${TAKEN}
    FROM plan, unnest($6::text[], $7::bigint[]) AS wanted (counter_id, credits)
    WHERE c.id = wanted.counter_id AND now() >= c.period_start AND now() < window_end(c) AND wanted.credits <= ${leftOf('c')}
    RETURNING c.id, c.per, old.credits - new.credits AS taken
  )
  INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, activity, purchased, budgets)
  SELECT $1::uuid, now(), $2::text[], $3::text[], $4::text[],
    CASE WHEN count(*) = cardinality($6::text[]) THEN $5::bigint[] ELSE raise_allowance_short() END, $8::text,
    jsonb_object_agg(id, taken) FILTER (WHERE taken > 0), array_agg(id) FILTER (WHERE per IS NOT NULL)
  FROM debited
  RETURNING purchased`;

const CHARGE_IN_TURN = `
  SELECT spent, short, reasons, purchased FROM charge_in_turn($1, $2, $3, $4, $5, $6, $7)`;

/**
 * Charges a batch: as a whole, or else in turn under the same attempt. All or nothing of it is charged, with its row in the journal.
 */
export async function chargeBatch(
  sql: Sql,
  calls: Call[],
  attempt: string,
  bound: Bound,
): Promise<ChargedBatch[]> {
  try {
    return await bound(chargeAtOnce(sql, calls, attempt));
  } catch (error) {
    if (codeOf(error) !== SHORT) throw error;
  }
  return bound(chargeCalls(sql, calls, attempt));
}

/**
 * Charges each account for all its calls, and the budgets of their keys.
 *
 * Rows are updated, and so locked, in the order of their ids, so two such statements never deadlock. The planner settings of
 * `pointQueries` (src/platform/postgres/connect.ts) leave no other plan. If a concurrent statement has changed a row, Postgres evaluates
 * the `SET` and the `WHERE` again on the new version.
 *
 * @throws with the code {@link SHORT} when a counter can't pay all, or the window of one is another than now; then nothing is charged
 */
function chargeAtOnce(sql: Sql, calls: Call[], attempt: string) {
  const wanted = new Map<string, number>();
  const limited = limitedKeys(calls);
  const want = (id: string, credits: number) => wanted.set(id, (wanted.get(id) ?? 0) + credits);
  for (const { accountId, keyId, credits } of calls) {
    want(accountId, credits);
    if (limited.has(keyId)) want(keyId, credits);
  }
  // ASCII, so it is the order of COLLATE "C".
  const ids = [...wanted.keys()].sort();
  const parameters = [attempt, ...arraysOf(calls), ids, ids.map((id) => wanted.get(id)!), entriesOf(calls)];
  return sql.unsafe<ChargedBatch[]>(CHARGE_AT_ONCE, parameters, { prepare: true });
}

/** The calls of a batch, as parameters. */
const arraysOf = (calls: Call[]) => [
  calls.map(({ accountId }) => accountId),
  calls.map(({ keyId }) => keyId),
  calls.map(({ kind }) => kind),
  calls.map(({ credits }) => credits),
];

/**
 * The keys of a batch whose counters are charged, too, for all their calls: one that did not know the first budget of its key yet counts
 * with those that did, because the row of the batch names the key.
 */
const limitedKeys = (calls: Call[]): Set<string> =>
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
