import type { Sql } from '../postgres/connect.ts';

/** A grant of purchased credits, from the ledger. */
export interface Grant {
  at: Date;
  credits: number;
  /** Purchased credits just afterwards. */
  balance: number;
  note: string;
}

/** Every grant of the account, the latest first. */
export async function loadGrants(sql: Sql, accountId: string): Promise<Grant[]> {
  return sql<Grant[]>`
    SELECT at, credits, balance, note FROM account_events
    WHERE account_id = ${accountId} AND kind = 'credits' ORDER BY id DESC`;
}
