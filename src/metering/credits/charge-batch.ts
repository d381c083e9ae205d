import { codeOf } from '../../platform/errors.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { entriesOf } from './activity.ts';
import type { Call } from './call.ts';
import { arraysOf, type ChargedBatch, chargeCalls, limitedKeys } from './charge-calls.ts';

/** The code of `raise_allowance_short`. This error is an answer: Postgres has rolled the statement back, and nothing was charged. */
const SHORT = 'U0001';

/** SQL: what a counter's window includes, as `included_of`, and what it can still pay, without a call of a function. */
const includedOf = (row: string) => `
  coalesce(${row}.included_credits, CASE ${row}.period_plan WHEN 'plus' THEN plan.plus WHEN 'free' THEN plan.free ELSE 9007199254740991 END)`;
const includedLeft = (row: string) => `greatest(${includedOf(row)} - ${row}.used, 0)`;
export const leftOf = (row: string) =>
  `${includedLeft(row)} + CASE WHEN ${row}.spend_purchased THEN ${row}.credits ELSE 0 END`;
/** SQL: purchased credits among those wanted. */
const TAKEN = `greatest(wanted.credits - ${includedLeft('c')}, 0)`;

/** SQL: the one row that {@link leftOf} reads of the plans. */
export const PLAN = `plan AS MATERIALIZED (
    SELECT max(included_credits) FILTER (WHERE name = 'plus') AS plus, max(included_credits) FILTER (WHERE name = 'free') AS free FROM plans
  )`;

const CHARGE_AT_ONCE = `
  WITH ${PLAN}, debited AS (
    UPDATE counters c SET used = c.used + wanted.credits, used_purchased = c.used_purchased + ${TAKEN}, credits = c.credits - ${TAKEN}
    FROM plan, unnest($6::text[], $7::bigint[]) AS wanted (counter_id, credits)
    WHERE c.id = wanted.counter_id AND now() >= c.period_start AND now() < window_end(c) AND wanted.credits <= ${leftOf('c')}
    RETURNING c.id, c.per, old.credits - new.credits AS taken, CASE WHEN $8::boolean THEN ${leftOf('new')} END AS "left"
  ), outcome AS (
    SELECT count(*) AS counters, jsonb_object_agg(id, taken) FILTER (WHERE taken > 0) AS purchased,
      array_agg(id) FILTER (WHERE per IS NOT NULL) AS budgets, jsonb_object_agg(id, "left") FILTER (WHERE $8::boolean) AS "left"
    FROM debited
  ), journal AS (
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, activity, purchased, budgets)
    SELECT $1::uuid, now(), $2::text[], $3::text[], $4::text[],
      CASE WHEN counters = cardinality($6::text[]) THEN $5::bigint[] ELSE raise_allowance_short() END, $9::text, purchased, budgets
    FROM outcome
  )
  SELECT purchased, "left" FROM outcome`;

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
    return [only(await bound(chargeAtOnce(sql, calls, attempt)))];
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
  for (const { accountId, keyId, credits } of calls)
    for (const id of limited.has(keyId) ? [accountId, keyId] : [accountId])
      wanted.set(id, (wanted.get(id) ?? 0) + credits);
  // ASCII, so it is the order of COLLATE "C".
  const ids = [...wanted.keys()].sort();
  const parameters = [
    attempt,
    ...arraysOf(calls),
    ids,
    ids.map((id) => wanted.get(id)!),
    calls.some(({ wantsLeft }) => wantsLeft),
    entriesOf(calls),
  ];
  return sql.unsafe<ChargedBatch[]>(CHARGE_AT_ONCE, parameters, { prepare: true });
}
