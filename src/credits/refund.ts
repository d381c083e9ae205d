import type { Sql, Transaction } from '../postgres/connect.ts';
import type { Ask, Spent } from './spend.ts';

/** What giving calls back goes by. */
export type Refundable = Pick<Spent, 'accountId' | 'fromPurchased' | 'instant'>;

/** Calls as a row of the journal has them. */
interface Entry {
  accountIds: string[];
  keyIds: string[];
  kinds: string[];
  calls: number[];
  /** When they were counted at, as Postgres writes it. */
  instant: string;
}

interface AttemptRow extends Entry {
  purchased: Record<string, number> | null;
}

/**
 * Gives back calls that were admitted too late for whoever asked: as if they had not been, unless the period has ended
 * since.
 */
export async function refund(sql: Sql, asks: Ask[], spent: Refundable): Promise<void> {
  const { accountId, fromPurchased, instant } = spent;
  const entry: Entry = {
    accountIds: asks.map((ask) => ask.accountId),
    keyIds: asks.map((ask) => ask.keyId),
    kinds: asks.map((ask) => ask.kind),
    calls: asks.map((ask) => ask.calls),
    instant,
  };
  const calls = entry.calls.reduce((sum, count) => sum + count, 0);
  await sql.begin(async (sql) => {
    await giveBack(sql, entry, { [accountId]: Math.min(calls, fromPurchased) });
    await countBack(sql, entry);
  });
}

/** Those of the attempts that have spent something, and are remembered. One that is just being moved may be missing. */
export async function findAttempts(sql: Sql, attempts: string[]): Promise<string[]> {
  const rows = await sql<{ attempt: string }[]>`
    SELECT attempt FROM call_journal WHERE attempt = ANY (${attempts}::uuid[])
    UNION ALL SELECT attempt FROM moved_calls WHERE attempt = ANY (${attempts}::uuid[])`;
  return rows.map(({ attempt }) => attempt);
}

/**
 * Gives back all that one statement spent, if it did. @returns whether it had
 *
 * The row is looked for in the journal first: one that is being moved meanwhile is waited for, and found where it went.
 */
export async function undoAttempt(sql: Sql, attempt: string): Promise<boolean> {
  return sql.begin(async (sql) => {
    const columns = sql`
      account_ids AS "accountIds", key_ids AS "keyIds", kinds, calls, at::text AS instant, purchased`;
    const [fresh] = await sql<AttemptRow[]>`
      DELETE FROM call_journal WHERE attempt = ${attempt} RETURNING ${columns}`;
    const [moved] =
      fresh === undefined
        ? await sql<AttemptRow[]>`DELETE FROM moved_calls WHERE attempt = ${attempt} RETURNING ${columns}`
        : [];
    const row = fresh ?? moved;
    if (row === undefined) return false;
    await giveBack(sql, row, row.purchased ?? {});
    if (moved !== undefined) await countBack(sql, moved);
    return true;
  });
}

/** Rows are locked in the order of the accounts' ids, as where credits are spent. */
async function giveBack(
  sql: Transaction,
  { accountIds, calls, instant }: Entry,
  purchased: Record<string, number>,
): Promise<void> {
  await sql`
    WITH owed AS (
      SELECT id, sum(calls)::bigint AS calls, coalesce((${sql.json(purchased)}::jsonb ->> id)::bigint, 0) AS purchased
      FROM unnest(${accountIds}::text[], ${calls}::bigint[]) AS asked (id, calls) GROUP BY id
    ), locked AS MATERIALIZED (
      SELECT b.account_id AS id, owed.calls, owed.purchased
      FROM balances b JOIN owed ON owed.id = b.account_id
      ORDER BY b.account_id FOR NO KEY UPDATE OF b
    ), spent AS (SELECT ${instant}::text::timestamptz AS instant)
    UPDATE balances b SET
      used = CASE WHEN b.period_start <= spent.instant AND spent.instant < b.period_end
        THEN greatest(b.used - locked.calls, 0) ELSE b.used END,
      credits = b.credits + locked.purchased
    FROM locked, spent WHERE b.account_id = locked.id`;
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
