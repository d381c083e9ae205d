/** Changes of an account. Each runs under the account's lock and writes a row of its ledger. */
import type { Sql } from '../postgres/connect.ts';
import { type Actor, recordEvent } from './events.ts';
import { checkSubscription, clock, effectivePlan, iso, type Plan, type Subscription } from './plan.ts';
import { type AccountDetails, lockAccount, requireAccount } from './store.ts';

export interface Limits {
  requestsPerMinute: number;
  includedCredits: number;
  /** Whether purchased credits pay for calls beyond the allowance. Otherwise these are refused. */
  spendPurchased: boolean;
}

/** For each limit, a number is the account's own, `null` means the plan's, and an absent one does not change. */
export interface LimitChange {
  requestsPerMinute?: number | null | undefined;
  includedCredits?: number | null | undefined;
  spendPurchased?: boolean | undefined;
}

/**
 * Moves the account to a plan. A change opens a new period now with nothing used. Periods of Plus are counted from
 * `periodStart`. Free to Free is no change.
 */
export async function changePlan(
  sql: Sql,
  id: string,
  plan: Plan,
  subscription: Subscription,
  actor: Actor,
): Promise<AccountDetails> {
  return sql.begin(async (sql) => {
    await lockAccount(sql, id);
    const now = await clock(sql);
    const { anchor, until } = checkSubscription(subscription, now);
    if (plan === 'plus') {
      await sql`
        UPDATE balances SET plan = 'plus', plan_since = ${now}, plus_anchor = ${anchor}, plus_until = ${until}
        WHERE account_id = ${id}`;
    } else {
      if ((await effectivePlan(sql, id)) === 'free') return requireAccount(sql, id);
      await sql`
        UPDATE balances SET plan = 'free', plan_since = ${now}, plus_anchor = NULL, plus_until = NULL
        WHERE account_id = ${id}`;
    }
    await sql`
      UPDATE balances SET used = 0, used_purchased = 0,
        period_plan = (p).plan, period_start = (p).starts_at, period_end = (p).ends_at,
        period_opened_at = clock_timestamp()
      FROM (SELECT account_period(plan, plan_since, plus_anchor, plus_until, ${now}) AS p
            FROM balances WHERE account_id = ${id}) AS opened
      WHERE account_id = ${id}`;
    const plus = plan === 'plus';
    const detail = { plan, periodStart: iso(plus ? anchor : null), until: iso(plus ? until : null) };
    await recordEvent(sql, id, { kind: 'plan', actor, detail });
    return requireAccount(sql, id);
  });
}

/** Gives an account its own limits, or the plan's again. @throws RefusedError for an unknown account */
export async function changeLimits(sql: Sql, id: string, change: LimitChange, actor: Actor): Promise<Limits> {
  return sql.begin(async (sql) => {
    await lockAccount(sql, id);
    const { requestsPerMinute, includedCredits, spendPurchased } = change;
    if (requestsPerMinute !== undefined) {
      await sql`UPDATE accounts SET requests_per_minute = ${requestsPerMinute} WHERE id = ${id}`;
    }
    if (includedCredits !== undefined) {
      await sql`UPDATE balances SET included_credits = ${includedCredits} WHERE account_id = ${id}`;
    }
    if (spendPurchased !== undefined) {
      await sql`UPDATE balances SET spend_purchased = ${spendPurchased} WHERE account_id = ${id}`;
    }
    const account = await requireAccount(sql, id);
    const limits = {
      requestsPerMinute: account.requestsPerMinute,
      includedCredits: account.includedCredits,
      spendPurchased: account.spendPurchased,
    };
    if (Object.values(change).some((value) => value !== undefined)) {
      await recordEvent(sql, id, { kind: 'limits', actor, detail: limits });
    }
    return limits;
  });
}

/**
 * Suspends or resumes an account. The keys of a suspended account are answered 401, and its members' sessions end. Repeating
 * it changes nothing.
 */
export async function setSuspended(sql: Sql, id: string, suspended: boolean, actor: Actor): Promise<void> {
  await sql.begin(async (sql) => {
    await lockAccount(sql, id);
    const changed = suspended
      ? await sql`UPDATE accounts SET suspended_at = now() WHERE id = ${id} AND suspended_at IS NULL RETURNING 1`
      : await sql`UPDATE accounts SET suspended_at = NULL WHERE id = ${id} AND suspended_at IS NOT NULL RETURNING 1`;
    if (changed.length === 0) return;
    if (suspended) {
      await sql`
        DELETE FROM dashboard_sessions WHERE "userId" IN (
          SELECT user_id FROM dashboard_members WHERE account_id = ${id})`;
    }
    await recordEvent(sql, id, { kind: suspended ? 'suspended' : 'resumed', actor });
  });
}
