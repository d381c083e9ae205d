import type { Sql, Transaction } from '../postgres/connect.ts';
import { MINUTE } from '../units.ts';
import type { Ask } from './calls.ts';
import type { Spent } from './spend.ts';

/** How long it is remembered what was moved out of the journal, and what was given back. */
export const REMEMBERED_MS = 5 * MINUTE;

/** What giving calls back goes by. */
export type Refundable = Pick<Spent, 'accountId' | 'fromPurchased' | 'instant' | 'spentAt'>;

/** One statement that may have spent credits. */
export interface Attempt {
  /** Its UUID in the journal. */
  id: string;
  /** What it was asked to spend, by account. */
  calls: Record<string, number>;
  /** By Postgres's clock: what it has not locked by then it never spends. */
  deadline: Date;
}

/** Calls as a row of the journal has them. */
interface Entry {
  accountIds: string[];
  keyIds: string[];
  kinds: string[];
  calls: number[];
  /** When they were counted at, as Postgres writes it. */
  instant: string;
  /** Postgres's clock under the accounts' locks, as it writes it. */
  spentAt: string;
}

interface AttemptRow extends Entry {
  purchased: Record<string, number> | null;
}

/**
 * Gives back calls that were admitted too late for whoever asked: as if they had not been, unless the period has ended
 * since.
 *
 * @param id a UUID of this give-back: repeated with the same one, it happens once
 */
export async function refund(sql: Sql, id: string, asks: Ask[], spent: Refundable): Promise<void> {
  const { accountId, fromPurchased, instant, spentAt } = spent;
  const entry: Entry = {
    accountIds: asks.map((ask) => ask.accountId),
    keyIds: asks.map((ask) => ask.keyId),
    kinds: asks.map((ask) => ask.kind),
    calls: asks.map((ask) => ask.calls),
    instant,
    spentAt,
  };
  const calls = entry.calls.reduce((sum, count) => sum + count, 0);
  await sql.begin(async (sql) => {
    // One that is under way is waited for here.
    const isFirst = await sql`INSERT INTO give_backs (id) VALUES (${id}) ON CONFLICT DO NOTHING RETURNING 1`;
    if (isFirst.length === 0) return;
    await giveBack(sql, entry, { [accountId]: Math.min(calls, fromPurchased) });
    await countBack(sql, entry);
  });
}

/**
 * Gives back all that one statement spent, if it did.
 *
 * A statement looks at its deadline when it has locked an account, or before, and then again if the account has changed
 * meanwhile. So whoever has locked and changed them after the deadline knows: what is not in the journal by then never
 * will be, however long the statement is still under way.
 *
 * @returns `spent`, and given back now; `nothing` was spent, or what was has been forgotten; `early`: not to be known yet
 */
export async function undoAttempt(sql: Sql, attempt: Attempt): Promise<'spent' | 'nothing' | 'early'> {
  const accountIds = Object.keys(attempt.calls);
  return sql.begin(async (sql) => {
    await sql`
      SELECT 1 FROM balances WHERE account_id = ANY (${accountIds}::text[])
      ORDER BY account_id FOR NO KEY UPDATE`;
    const [clock] = await sql<{ isOver: boolean }[]>`
      SELECT clock_timestamp() >= ${attempt.deadline} AS "isOver"`;
    if (!clock!.isOver) return 'early';
    // One that has looked at the deadline before, and waits for a row, looks again: only where the row has changed.
    await sql`UPDATE balances SET used = used WHERE account_id = ANY (${accountIds}::text[])`;
    const columns = sql`
      account_ids AS "accountIds", key_ids AS "keyIds", kinds, calls, at::text AS instant, spent_at::text AS "spentAt", purchased`;
    // In the journal first: a row that is being moved meanwhile is waited for, and found where it went.
    const [fresh] = await sql<AttemptRow[]>`
      DELETE FROM call_journal WHERE attempt = ${attempt.id} RETURNING ${columns}`;
    const [moved] =
      fresh === undefined
        ? await sql<AttemptRow[]>`DELETE FROM moved_calls WHERE attempt = ${attempt.id} RETURNING ${columns}`
        : [];
    const row = fresh ?? moved;
    if (row === undefined) return 'nothing';
    await giveBack(sql, row, row.purchased ?? {});
    if (moved !== undefined) await countBack(sql, moved);
    return 'spent';
  });
}

/**
 * Within their period the calls are taken off the account's end: what others have paid since with purchased credits they
 * would have had out of the allowance. When another one has been opened since, what the calls themselves took of purchased
 * credits comes back.
 *
 * Rows are locked in the order of the accounts' ids, as where credits are spent.
 */
async function giveBack(
  sql: Transaction,
  { accountIds, calls, spentAt }: Entry,
  purchased: Record<string, number>,
): Promise<void> {
  await sql`
    WITH owed AS (
      SELECT id, sum(calls)::bigint AS calls, coalesce((${sql.json(purchased)}::jsonb ->> id)::bigint, 0) AS purchased
      FROM unnest(${accountIds}::text[], ${calls}::bigint[]) AS asked (id, calls) GROUP BY id
    ), locked AS MATERIALIZED (
      SELECT b.account_id AS id, b.used, b.used_purchased, owed.calls, owed.purchased,
        greatest(b.used - coalesce(b.included_credits, plans.included_credits), 0) AS over_allowance,
        b.period_opened_at <= ${spentAt}::text::timestamptz AS is_current
      FROM balances b JOIN owed ON owed.id = b.account_id JOIN plans ON plans.name = b.period_plan
      ORDER BY b.account_id FOR NO KEY UPDATE OF b
    ), returned AS (
      SELECT *, CASE WHEN is_current THEN least(calls, used_purchased, over_allowance) ELSE purchased END AS credits
      FROM locked
    )
    UPDATE balances b SET
      used = CASE WHEN is_current THEN greatest(r.used - r.calls, 0) ELSE r.used END,
      used_purchased = CASE WHEN is_current THEN r.used_purchased - r.credits ELSE r.used_purchased END,
      credits = b.credits + r.credits
    FROM returned r WHERE b.account_id = r.id`;
}

/** Takes calls back that may have been counted already. */
async function countBack(
  sql: Transaction,
  { accountIds, keyIds, kinds, calls, instant }: Entry,
): Promise<void> {
  await sql`
    INSERT INTO call_journal (at, account_ids, key_ids, kinds, calls)
    VALUES (${instant}::text::timestamptz, ${accountIds}::text[], ${keyIds}::text[], ${kinds}::text[],
      ${calls.map((count) => -count)}::bigint[])`;
}
