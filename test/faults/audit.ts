import type { Sql } from '../../src/platform/postgres/connect.ts';
import type { KnownAccount } from './accounts.ts';
import type { Seen } from './load.ts';

/** One account's ledger. */
interface LedgerRow {
  id: string;
  /** Of the current period. */
  used: number;
  purchased: number;
  /** Purchased credits that earlier periods used. */
  before: number;
  credits: number;
  /** Sum of `calls_by_day`. */
  calls: number;
  /** Of the key's budget, if it has one. */
  budgetUsed: number;
  /** Days of keys whose charges less returns are not the calls that were rolled up. */
  strayDays: number;
}

/** Beside the answers that its callers got. */
type Compared = LedgerRow & Seen & Omit<KnownAccount, 'keyId' | 'key'>;

/** With the rules of the ledger that do not hold. */
export type AuditRow = Omit<Compared, 'id'> & { violations: string[] };

interface AuditMode {
  /** Whether no instance has ended, so that every request has its answer. */
  isWhole: boolean;
  /** Whether every key with a budget has asked until it was refused, so that all of the budget is spent. */
  isDrained: boolean;
}

/**
 * Checks every account's ledger against its answers. Reads only `balances`, `calls_by_day`, `key_counts`, `activity`
 * and `key_budgets`.
 */
export async function audit(
  sql: Sql,
  accounts: KnownAccount[],
  seen: Map<string, Seen>,
  mode: AuditMode,
): Promise<AuditRow[]> {
  const rows = await sql<LedgerRow[]>`
    SELECT account_id AS id, used::float8 AS used, used_purchased::float8 AS purchased, credits::float8 AS credits,
      purchased_before::float8 AS before,
      coalesce((SELECT sum(calls) FROM calls_by_day d WHERE d.account_id = b.account_id), 0)::float8 AS calls,
      (SELECT sum(k.used) FROM key_budgets k JOIN api_keys ON id = key_id WHERE api_keys.account_id = b.account_id)::float8 AS "budgetUsed",
      (SELECT count(*) FROM (
        SELECT FROM (
          SELECT day, key_id, calls FROM key_counts d WHERE NOT is_error AND d.account_id = b.account_id
          UNION ALL
          SELECT (at AT TIME ZONE 'UTC')::date, key_id, -credits FROM activity a WHERE a.account_id = b.account_id
        ) AS counted GROUP BY day, key_id HAVING sum(calls) <> 0) AS stray)::float8 AS "strayDays"
    FROM balances b`;
  const ledger = new Map(rows.map((row) => [row.id, row]));
  return accounts.map(({ keyId: _, key: __, ...known }) => {
    const row = { ...ledger.get(known.id)!, ...seen.get(known.id)!, ...known };
    return { ...row, violations: violationsOf(row, mode) };
  });
}

function violationsOf(row: Compared, { isWhole, isDrained }: AuditMode): string[] {
  const { used, purchased, before, credits, calls, included, granted, priced, unseen, doubtful } = row;
  const most = isWhole ? priced : priced + unseen + doubtful;
  const rules: [string, boolean][] = [
    [`calls_by_day has ${calls}, below the ${priced} priced answers`, calls < priced],
    [`calls_by_day has ${calls}, above the ${most} that were answered or may have been`, calls > most],
    [`credits and purchased ones used are not ${granted}`, credits + purchased + before !== granted],
    ['used_purchased is not max(0, used - included)', purchased !== Math.max(0, used - included)],
    [`used ${used} is not what calls_by_day has`, row.changesPlan ? used > calls : used !== calls],
    [`the activity of ${row.strayDays} days of keys is not their calls`, row.strayDays > 0],
    ['a request has no answer', isWhole && unseen > 0],
    [
      `the budget has used ${row.budgetUsed}, and its key ${calls}`,
      row.budget !== null && row.budgetUsed !== calls,
    ],
    [`the key has spent ${calls}, over its budget`, row.budget !== null && calls > row.budget],
    [`the key could not spend all of its budget`, row.budget !== null && isDrained && calls < row.budget],
  ];
  return rules.filter(([, isBroken]) => isBroken).map(([rule]) => rule);
}
