import type { Plan, Subscription } from '../../src/accounts/plan.ts';
import { createAccount } from '../../src/accounts/store.ts';
import type { Sql } from '../../src/postgres/connect.ts';

/**
 * An account as if it had been made at an instant of the past: its stored period is the one of then, so that a test can
 * walk through the following ones with an injected clock.
 *
 * @returns its id
 */
export async function createAccountAt(
  sql: Sql,
  at: Date,
  account: { plan: Plan; included?: number } & Subscription,
): Promise<string> {
  const { id } = await createAccount(sql, { name: 'Test', ...account }, 'test');
  await sql`
    UPDATE balances SET period_plan = (p).plan, period_start = (p).starts_at, period_end = (p).ends_at,
      included_credits = ${account.included ?? null}
    FROM (SELECT account_period(plan, plan_since, plus_anchor, plus_until, ${at}) AS p
          FROM balances WHERE account_id = ${id}) AS opened
    WHERE account_id = ${id}`;
  return id;
}

/** A clock that stands where the test puts it. */
export function createTestClock(text: string): { now: () => Date; set(text: string): void } {
  let at = new Date(text);
  return {
    now: () => at,
    set(next) {
      at = new Date(next);
    },
  };
}
