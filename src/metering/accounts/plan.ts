import { RefusedError } from '../../platform/errors.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';

export type Plan = 'free' | 'plus';

/** A Plus subscription: the start that its periods are counted from, and the end. */
export interface Subscription {
  /** Default now; not in the future. */
  periodStart?: Date | undefined;
  /** By default the subscription doesn't lapse. */
  until?: Date | undefined;
}

export interface Period {
  start: Date;
  /** Exclusive. */
  end: Date;
}

/** The limits that a plan sets. An account can have its own in their place. */
export interface PlanQuotas {
  includedCredits: number;
  /** Keys at a time. */
  keyLimit: number;
  requestsPerMinute: number;
}

/** The limits of an account without its own. */
export async function readPlan(sql: Sql, plan: Plan): Promise<PlanQuotas> {
  const rows = await sql<PlanQuotas[]>`
    SELECT included_credits AS "includedCredits", api_keys AS "keyLimit", requests_per_minute AS "requestsPerMinute"
    FROM plans WHERE name = ${plan}`;
  return only(rows);
}

/** Postgres's clock with the precision of a `Date`, so that a stored instant equals the one that it is compared with. */
export async function clock(sql: Transaction): Promise<Date> {
  return only(await sql<{ now: Date }[]>`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`).now;
}

/**
 * The anchor and the end of a subscription that starts now; both are `null` for Free.
 * @throws RefusedError when it begins in the future or ends before it begins
 */
export function checkSubscription(plan: Plan, { periodStart, until }: Subscription, now: Date) {
  const anchor = periodStart ?? now;
  if (anchor > now) throw new RefusedError(`--period-start ${iso(anchor)} is in the future`);
  if (until !== undefined && until <= anchor) {
    throw new RefusedError(
      `--until must be later than ${periodStart === undefined ? 'now' : '--period-start'}`,
    );
  }
  return plan === 'plus' ? { anchor, until: until ?? null } : { anchor: null, until: null };
}

export function iso(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}
