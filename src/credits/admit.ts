import { within } from '../deadline.ts';
import type { Sql } from '../postgres/connect.ts';
import { SECOND } from '../units.ts';

/** An admission that Postgres has not begun by then never happens, and its request is answered 503. */
const ADMISSION_DEADLINE_MS = 1.5 * SECOND;
/** How much longer an admission that began in time may take to commit. */
const COMMIT_GRACE_MS = 0.5 * SECOND;

/** What the ledger said of one call. */
export type Admission =
  | { admitted: true }
  | {
      admitted: false;
      /** The included allowance of the period, credits. */
      limit: number;
      /** When the included allowance is there again. */
      resetAt: Date;
      /** Whole seconds until then, by Postgres's clock, at least 1. */
      retryAfterS: number;
    };

interface AdmissionRow {
  id: string;
  at: Date;
  admitted: number;
  from_purchased: number;
  included: number;
  period_start: Date;
  period_end: Date;
  wait_s: number;
}

export interface Credits {
  /**
   * Spends one credit of the account: included first, then purchased (specification, Credits 3). Durable before it
   * returns, and exact with any number of processes at once.
   *
   * @throws when Postgres could not say; the credit is not spent then
   */
  admit(accountId: string): Promise<Admission>;
}

export interface CreditsOptions {
  /** For tests: the instant that admissions count at. Absent: Postgres's clock (contract, choice 9). */
  instant?: () => Date;
  /** Told of a refund that failed: the only way in which a credit could be lost. */
  onRefundFailed?: (accountId: string, error: unknown) => void;
}

export function createCredits(sql: Sql, options: CreditsOptions = {}): Credits {
  // Postgres's clock minus ours, learnt from every answer: deadlines are in Postgres's time.
  let clockOffsetMs = 0;

  async function admit(accountId: string): Promise<Admission> {
    const instant = options.instant?.() ?? null;
    const deadline = new Date(Date.now() + clockOffsetMs + ADMISSION_DEADLINE_MS);
    const query = spend(sql, [accountId], [1], deadline, instant);
    let abandoned = false;
    query.then(
      ([row]) => {
        if (row === undefined) return;
        clockOffsetMs = row.at.getTime() - Date.now();
        if (abandoned && row.admitted > 0) refund(row);
      },
      () => {},
    );
    try {
      const [row] = await within(query, ADMISSION_DEADLINE_MS + COMMIT_GRACE_MS, 'the credit ledger');
      if (row === undefined) throw new Error('the credit ledger was too late, or the account is gone');
      if (row.admitted > 0) return { admitted: true };
      return {
        admitted: false,
        limit: row.included,
        resetAt: row.period_end,
        retryAfterS: Math.max(1, Math.ceil(row.wait_s)),
      };
    } catch (error) {
      abandoned = true;
      throw error;
    }
  }

  /** Gives back what was spent for a call that had been answered 503 by then. */
  function refund(row: AdmissionRow): void {
    sql`
      UPDATE accounts SET
        used = CASE WHEN period_start = ${row.period_start} THEN greatest(used - 1, 0) ELSE used END,
        credits = credits + ${row.from_purchased}
      WHERE id = ${row.id}`.catch((error) => options.onRefundFailed?.(row.id, error));
  }

  return { admit };
}

/**
 * One statement for any number of accounts: each may ask for several calls and is admitted as many as it can pay.
 *
 * Rows are locked in the order of their ids, so that two such statements never wait for each other in a circle. All
 * arithmetic is on the locked row: a concurrent admission waits, and then sees what this one left. Nothing happens
 * when Postgres gets to it after `deadline`: whoever asked has been told 503 by then.
 */
function spend(sql: Sql, ids: string[], calls: number[], deadline: Date, instant: Date | null) {
  return sql<AdmissionRow[]>`
    WITH locked AS MATERIALIZED (
      SELECT a.id, asked.calls, a.used, a.credits, a.included_credits,
             a.plan, a.plan_since, a.plus_anchor, a.plus_until,
             a.period_plan, a.period_start, a.period_end,
             coalesce(${instant}::timestamptz, now()) AS instant
      FROM unnest(${ids}::text[], ${calls}::bigint[]) AS asked (id, calls)
      JOIN accounts a USING (id)
      WHERE clock_timestamp() < ${deadline}
      ORDER BY a.id
      FOR NO KEY UPDATE OF a
    ), current AS MATERIALIZED (
      SELECT *, CASE WHEN instant < period_end
        THEN ROW(period_plan, period_start, period_end)::quota_period
        ELSE account_period(plan, plan_since, plus_anchor, plus_until, instant) END AS period,
        CASE WHEN instant < period_end THEN used ELSE 0 END AS used_before
      FROM locked
    ), priced AS MATERIALIZED (
      SELECT current.*, coalesce(current.included_credits, plans.included_credits) AS included,
        greatest(coalesce(current.included_credits, plans.included_credits) - used_before, 0) AS included_left
      FROM current JOIN plans ON plans.name = (period).plan
    ), decided AS MATERIALIZED (
      SELECT *, least(calls, included_left + credits) AS admitted,
        greatest(least(calls, included_left + credits) - included_left, 0) AS from_purchased
      FROM priced WHERE clock_timestamp() < ${deadline}
    ), spent AS (
      UPDATE accounts a SET
        used = d.used_before + d.admitted,
        credits = d.credits - d.from_purchased,
        period_plan = (d.period).plan,
        period_start = (d.period).starts_at,
        period_end = (d.period).ends_at
      FROM decided d WHERE a.id = d.id AND d.admitted > 0
    )
    SELECT id, clock_timestamp() AS at, admitted, from_purchased, included,
      (period).starts_at AS period_start, (period).ends_at AS period_end,
      extract(epoch FROM (period).ends_at - instant)::float8 AS wait_s
    FROM decided`;
}
