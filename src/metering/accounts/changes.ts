/** Changes of an account. Each runs under the account's lock and writes a row of its ledger. */
import type { Sql } from '../../platform/postgres/connect.ts';
import { type AccountDetails, lockAccount, requireAccount } from './account-store.ts';
import { type Actor, recordEvent } from './events.ts';
import { checkSubscription, clock, iso, type Plan, type Subscription } from './plan.ts';

export type Limits = Pick<AccountDetails, 'requestsPerMinute' | 'includedCredits' | 'spendPurchased'>;

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
export async function changePlan(sql: Sql, id: string, plan: Plan, subscription: Subscription, actor: Actor) {
  return sql.begin(async (sql) => {
    await lockAccount(sql, id);
    const now = await clock(sql);
    const { anchor, until } = checkSubscription(plan, subscription, now);
    const account = await requireAccount(sql, id);
    if (plan === 'free' && account.plan === 'free') return account;
    await sql`
      UPDATE counters SET plan = ${plan}, plan_since = ${now}, plus_anchor = ${anchor}, plus_until = ${until},
        used = 0, used_purchased = 0, purchased_before = purchased_before + used_purchased,
        period_plan = (p).plan, period_start = (p).starts_at, period_end = (p).ends_at,
        period_opened_at = clock_timestamp()
      FROM account_period(${plan}, ${now}, ${anchor}, ${until}, ${now}) AS p
      WHERE id = ${id}`;
    const detail = { plan, periodStart: iso(anchor), until: iso(until) };
    await recordEvent(sql, id, { kind: 'plan', actor, detail });
    return requireAccount(sql, id);
  });
}

/** Gives an account its own limits, or the plan's again. @throws RefusedError for an unknown account */
export async function changeLimits(sql: Sql, id: string, change: LimitChange, actor: Actor): Promise<Limits> {
  return sql.begin(async (sql) => {
    await lockAccount(sql, id);
    if (change.requestsPerMinute !== undefined) {
      await sql`UPDATE accounts SET requests_per_minute = ${change.requestsPerMinute} WHERE id = ${id}`;
    }
    if (change.includedCredits !== undefined) {
      await sql`UPDATE counters SET included_credits = ${change.includedCredits} WHERE id = ${id}`;
    }
    if (change.spendPurchased !== undefined) {
      await sql`UPDATE counters SET spend_purchased = ${change.spendPurchased} WHERE id = ${id}`;
    }
    const { requestsPerMinute, includedCredits, spendPurchased } = await requireAccount(sql, id);
    const limits = { requestsPerMinute, includedCredits, spendPurchased };
    if (Object.values(change).some((value) => value !== undefined)) {
      await recordEvent(sql, id, { kind: 'limits', actor, detail: limits });
    }
    return limits;
  });
}

/**
 * Suspends or resumes an account. The keys of a suspended account are answered 401, and its members' sessions
 * end (0004_dashboard.sql). Repeating it changes nothing.
 *
 * @param reason of a suspension, which members see
 * @returns whether it was a change
 */
export async function setSuspended(sql: Sql, id: string, suspended: boolean, actor: Actor, reason = '') {
  return sql.begin(async (sql) => {
    await lockAccount(sql, id);
    const changed = await sql`
      UPDATE accounts SET suspended_at = CASE WHEN ${suspended} THEN now() END
      WHERE id = ${id} AND (suspended_at IS NOT NULL) <> ${suspended} RETURNING 1`;
    if (changed.length === 0) return false;
    await recordEvent(sql, id, { kind: suspended ? 'suspended' : 'resumed', actor, note: reason });
    return true;
  });
}
