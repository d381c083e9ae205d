import { codeOf } from '../../platform/errors.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { entriesOf } from './activity.ts';
import type { Call } from './call.ts';
import { type ChargedBatch, chargeCalls } from './charge-calls.ts';
import { CREDITS_BY_ACCOUNT, includedCredits } from './charge-sql.ts';

/** The code of `raise_allowance_short`. This error is an answer: Postgres has rolled the statement back, and nothing was charged. */
const ALLOWANCE_SHORT = 'U0001';

/** Of 16 calls it takes Postgres 204 µs of CPU, and the statement of {@link chargeCalls} 289. */
const CHARGE_ALLOWANCES = `
  WITH charged AS (
    UPDATE balances b SET used = b.used + wanted.credits
    FROM (${CREDITS_BY_ACCOUNT}) AS wanted
    WHERE b.account_id = wanted.id AND now() < b.period_end AND b.used + wanted.credits <= ${includedCredits('b.period_plan')}
    RETURNING 1
  )
  INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, activity)
  SELECT $1::uuid, now(), $2::text[], $3::text[], $4::text[],
    CASE WHEN count(*) = $6::integer THEN $5::bigint[] ELSE raise_allowance_short() END, $7::text
  FROM charged
  RETURNING true`;
const PAID_FROM_ALLOWANCES: ChargedBatch = { spent: null, purchased: null, quotas: null, left: null };

/** Beyond so many accounts without allowance all are forgotten. They cost about 1 MB. */
const MAX_ACCOUNTS = 10_000;

/**
 * Charges batches. Nearly every batch is paid from allowances of periods that last, so a short statement tries that first: it
 * charges every account for all its calls, or nothing at all. If an account can't pay so, {@link chargeCalls} follows under the
 * same attempt.
 */
export function createBatchCharge(sql: Sql) {
  /**
   * Accounts that could not pay their latest batch from their allowance. A batch with one of them skips the short statement.
   * A wrong guess costs a statement, and the next charge corrects it.
   */
  const withoutAllowance = new Set<string>();

  return async function chargeBatch(calls: Call[], attempt: string, bound: Bound): Promise<ChargedBatch[]> {
    const wantsRules = ({ accountId, wantsLeft, hasBudget }: Call) =>
      wantsLeft || hasBudget || withoutAllowance.has(accountId);
    if (!calls.some(wantsRules)) {
      try {
        only(await bound(chargeAllowances(sql, calls, attempt)));
        return [PAID_FROM_ALLOWANCES];
      } catch (error) {
        if (codeOf(error) !== ALLOWANCE_SHORT) throw error;
      }
    }
    const rows = await bound(chargeCalls(sql, calls, attempt));
    const { purchased, quotas } = only(rows);
    if (withoutAllowance.size > MAX_ACCOUNTS) withoutAllowance.clear();
    for (const { accountId } of calls) {
      if (purchased?.[accountId] || quotas?.[accountId]) withoutAllowance.add(accountId);
      else withoutAllowance.delete(accountId);
    }
    return rows;
  };
}

/**
 * Charges each account for all its calls from its allowance.
 * @throws with the code {@link ALLOWANCE_SHORT} when one can't pay so, or its period has ended; then nothing is charged
 */
function chargeAllowances(sql: Sql, calls: Call[], attempt: string) {
  const accountIds = calls.map(({ accountId }) => accountId);
  const parameters = [
    attempt,
    accountIds,
    calls.map(({ keyId }) => keyId),
    calls.map(({ kind }) => kind),
    calls.map(({ credits }) => credits),
    new Set(accountIds).size,
    entriesOf(calls),
  ];
  return sql.unsafe(CHARGE_ALLOWANCES, parameters, { prepare: true });
}
