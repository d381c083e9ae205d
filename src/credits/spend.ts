import { numberArray, textArray } from '../postgres/arrays.ts';
import { SENT_AT_ONCE, type Sql } from '../postgres/connect.ts';
import type { Ask } from './calls.ts';

/** What became of all the calls that one account asked for. */
export interface Spent {
  accountId: string;
  /** How many were admitted, in the order of the asks. */
  admitted: number;
  /** How many of these were paid with purchased credits. */
  fromPurchased: number;
  /** The included allowance of the period, credits. */
  included: number;
  periodEnd: Date;
  /** Seconds from the admission to the period's end. */
  untilPeriodEndS: number;
  /** Postgres's clock while it was at it. */
  at: Date;
  /** When the calls count at, as Postgres writes it: a `Date` would lose its microseconds. */
  instant: string;
  /** Postgres's clock under the account's lock, in the same form: whether a period was opened before or after. */
  spentAt: string;
  /** The index of the directory's current generation, as of the same instant; null: it has none. */
  directoryIndex: string | null;
}

/** What became of calls that were expected to be paid out of the period that runs, all of them or none for each account. */
export interface Payment {
  /** Accounts of which nothing was spent. All the others paid what they were asked for. */
  unpaid: Set<string>;
  /** Purchased credits among those that were spent, by account; an account that is not in here spent none. */
  fromPurchased: Map<string, number>;
  /** Postgres's clock while it was at it. */
  at: Date;
  /** When the calls count at, as Postgres writes it: a `Date` would lose its microseconds. */
  instant: string;
  /** Postgres's clock under the accounts' locks, in the same form. */
  spentAt: string;
  /** The index of the directory's current generation, as of the same instant; null: it has none. */
  directoryIndex: string | null;
}

/** What is answered when no account's turn came in time. */
export interface NothingSpent {
  accountId: null;
  at: Date;
}

export interface Bounds {
  /** By Postgres's clock: later than this nothing happens. */
  deadline: Date;
  /** Counts as now; null: Postgres's clock. */
  instant: Date | null;
  /** Pass over accounts that somebody else has locked: they have no row in the answer. */
  skipLocked: boolean;
  /** A UUID of this one statement, by which it is found again when its answer gets lost. */
  attempt: string;
}

/**
 * Spends credits of those accounts that can pay for all of their calls within the period that runs: nearly all of them,
 * nearly always, at half of what {@link spend} takes. Of the others nothing is spent; `spend` has the rules for them.
 *
 * The rows are updated in the order of the accounts' ids, and so locked in that order, as there. It takes the connection's
 * settings to be sure of it (`byKey`, src/postgres/connect.ts): whether Postgres looks an account up by its id or reads the
 * ids' index from its beginning, it comes by the accounts in that order, and has no other way left. Where another statement
 * has changed a row meanwhile, Postgres reads the conditions again, and the sums, from what that one left.
 */
export async function spendIfPayable(
  sql: Sql,
  asks: Ask[],
  { deadline, instant, attempt }: Omit<Bounds, 'skipLocked'>,
): Promise<Payment> {
  const totals = new Map<string, number>();
  for (const { accountId, calls } of asks) totals.set(accountId, (totals.get(accountId) ?? 0) + calls);
  const accountIds = [...totals.keys()].sort();
  const wanted = accountIds.map((id) => totals.get(id)!);
  const { ids, keys, kinds, calls } = columnsOf(asks);
  const now = sql`coalesce(${instant}::timestamptz, now())`;
  const included = sql`
    coalesce(b.included_credits, CASE b.period_plan WHEN 'plus' THEN plans.plus ELSE plans.free END)`;
  const fromPurchased = sql`greatest(wanted.calls - greatest(${included} - b.used, 0), 0)`;
  const [row] = await sql<PaymentRow[]>`
    WITH asked AS MATERIALIZED (
      SELECT ${accountIds.length}::int AS accounts, ${now} AS instant,
        ${ids}::text[] AS ids, ${keys}::text[] AS keys, ${kinds}::text[] AS kinds, ${calls}::bigint[] AS calls
    ), paid AS (
      UPDATE balances b SET used = b.used + wanted.calls, used_purchased = b.used_purchased + ${fromPurchased},
        credits = b.credits - ${fromPurchased}
      FROM unnest(${textArray(accountIds)}::text[], ${numberArray(wanted)}::bigint[]) AS wanted (id, calls),
        (SELECT max(included_credits) FILTER (WHERE name = 'free') AS free,
          max(included_credits) FILTER (WHERE name = 'plus') AS plus FROM plans) AS plans
      WHERE b.account_id = wanted.id AND ${now} < b.period_end AND ${fromPurchased} <= b.credits
        AND clock_timestamp() < ${deadline}
      -- Of the row as it is now: what is over the allowance was paid with purchased credits, by these calls or others before.
      RETURNING b.account_id AS id, least(wanted.calls, greatest(b.used - ${included}, 0)) AS from_purchased
    ), outcome AS MATERIALIZED (
      SELECT count(*) AS accounts, jsonb_object_agg(id, from_purchased) FILTER (WHERE from_purchased > 0) AS purchased
      FROM paid
    ), counted AS (
      INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, purchased)
      SELECT ${attempt}::uuid, instant, ids, keys, kinds, calls, purchased
      FROM asked JOIN outcome USING (accounts)
      UNION ALL
      SELECT ${attempt}::uuid, instant, array_agg(entry.id), array_agg(key), array_agg(kind), array_agg(entry.calls), purchased
      FROM asked, outcome, unnest(ids, keys, kinds, asked.calls) AS entry (id, key, kind, calls)
      -- IS TRUE: looked up in a hash table, and never joined row by row, whatever the planner expects of the numbers.
      WHERE outcome.accounts < asked.accounts AND (entry.id IN (SELECT id FROM paid)) IS TRUE
      GROUP BY instant, purchased
    )
    SELECT clock_timestamp() AS at, instant::text, clock_timestamp()::text AS "spentAt", purchased,
      CASE WHEN outcome.accounts < asked.accounts THEN
        ARRAY (SELECT unnest(ids) EXCEPT SELECT id FROM paid) END AS unpaid,
      (SELECT index_name FROM directory_generations WHERE id = (SELECT current FROM directory)) AS "directoryIndex"
    FROM asked, outcome WHERE ${SENT_AT_ONCE}::text IS NOT NULL`;
  // Who isn't named has paid: that may be said only of an answer that is there.
  if (row === undefined) throw new Error('the credit ledger gave no answer');
  const { purchased, unpaid, ...common } = row;
  return {
    ...common,
    unpaid: new Set(unpaid),
    fromPurchased: new Map(purchased === null ? [] : Object.entries(purchased)),
  };
}

type PaymentRow = Pick<Payment, 'at' | 'instant' | 'spentAt' | 'directoryIndex'> & {
  unpaid: string[] | null;
  purchased: Record<string, number> | null;
};

/**
 * Spends credits of any number of accounts in one statement: each is admitted as many calls as it can pay, included
 * credits first (specification, Credits 2–4). The calls are written to the journal (journal.ts) by the same statement.
 *
 * Rows are locked in the order of the accounts' ids, so that two such statements never wait for each other in a
 * circle. All arithmetic is on the locked rows: a concurrent statement waits, and then sees what this one left. Nothing
 * happens when Postgres gets to it after `deadline`: whoever asked has been told 503 by then.
 *
 * @param bounds when it must have begun, and what counts as now
 * @returns one row an account; an account that is gone, or whose turn came too late, has none. Where none has one, the
 *   clock alone
 */
export function spend(sql: Sql, asks: Ask[], { deadline, instant, skipLocked, attempt }: Bounds) {
  const { ids, keys, kinds, calls } = columnsOf(asks);
  return sql<(Spent | NothingSpent)[]>`
    WITH asked AS MATERIALIZED (
      SELECT * FROM unnest(${ids}::text[], ${keys}::text[], ${kinds}::text[], ${calls}::bigint[])
        WITH ORDINALITY AS asked (id, key_id, kind, calls, position)
    ), wanted AS MATERIALIZED (
      SELECT id, sum(calls)::bigint AS calls FROM asked GROUP BY id
    ), locked AS MATERIALIZED (
      SELECT b.account_id AS id, wanted.calls, b.used, b.used_purchased, b.credits, b.included_credits,
        b.plan, b.plan_since, b.plus_anchor, b.plus_until, b.period_plan, b.period_start, b.period_end,
        coalesce(${instant}::timestamptz, now()) AS instant
      FROM wanted JOIN balances b ON b.account_id = wanted.id
      WHERE clock_timestamp() < ${deadline}
      ORDER BY b.account_id
      FOR NO KEY UPDATE OF b ${skipLocked ? sql`SKIP LOCKED` : sql``}
    ), present AS MATERIALIZED (
      SELECT *,
        CASE WHEN instant < period_end
          THEN ROW(period_plan, period_start, period_end)::quota_period
          ELSE account_period(plan, plan_since, plus_anchor, plus_until, instant) END AS period,
        CASE WHEN instant < period_end THEN used ELSE 0 END AS used_before,
        CASE WHEN instant < period_end THEN used_purchased ELSE 0 END AS purchased_before
      FROM locked
    ), priced AS MATERIALIZED (
      SELECT present.*, coalesce(present.included_credits, plans.included_credits) AS included,
        greatest(coalesce(present.included_credits, plans.included_credits) - used_before, 0) AS included_left
      FROM present JOIN plans ON plans.name = (period).plan
    ), decided AS MATERIALIZED (
      SELECT *, clock_timestamp() AS decided_at, least(calls, included_left + credits) AS admitted,
        greatest(least(calls, included_left + credits) - included_left, 0) AS from_purchased
      FROM priced WHERE clock_timestamp() < ${deadline}
    ), spent AS (
      UPDATE balances b SET
        used = d.used_before + d.admitted,
        used_purchased = d.purchased_before + d.from_purchased,
        credits = d.credits - d.from_purchased,
        period_plan = (d.period).plan,
        period_start = (d.period).starts_at,
        period_end = (d.period).ends_at,
        period_opened_at = CASE WHEN d.instant < d.period_end THEN b.period_opened_at ELSE d.decided_at END
      FROM decided d WHERE b.account_id = d.id AND d.admitted > 0
    ), shared AS (
      SELECT asked.*, d.instant, least(asked.calls, greatest(d.admitted + asked.calls -
        sum(asked.calls) OVER (PARTITION BY asked.id ORDER BY asked.position), 0))::bigint AS admitted
      FROM asked JOIN decided d USING (id)
    ), counted AS (
      INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, purchased)
      SELECT ${attempt}::uuid, instant, array_agg(id), array_agg(key_id), array_agg(kind), array_agg(admitted),
        (SELECT jsonb_object_agg(id, from_purchased) FROM decided WHERE from_purchased > 0)
      FROM shared WHERE admitted > 0 GROUP BY instant
    )
    SELECT id AS "accountId", admitted, from_purchased AS "fromPurchased", included,
      (period).ends_at AS "periodEnd", extract(epoch FROM (period).ends_at - instant)::float8 AS "untilPeriodEndS",
      at, instant::text AS instant, decided_at::text AS "spentAt",
      (SELECT g.index_name FROM directory d JOIN directory_generations g ON g.id = d.current) AS "directoryIndex"
    FROM (SELECT clock_timestamp() AS at) AS clock LEFT JOIN decided ON true
    WHERE ${SENT_AT_ONCE}::text IS NOT NULL`;
}

/** The asks as the arrays of an `unnest`. */
function columnsOf(asks: Ask[]) {
  return {
    ids: textArray(asks.map((ask) => ask.accountId)),
    keys: textArray(asks.map((ask) => ask.keyId)),
    kinds: textArray(asks.map((ask) => ask.kind)),
    calls: numberArray(asks.map((ask) => ask.calls)),
  };
}
