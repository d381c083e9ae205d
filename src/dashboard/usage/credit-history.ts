import type { Sql } from '../../postgres/connect.ts';

/** A grant of purchased credits, from the ledger. */
export interface Grant {
  at: Date;
  credits: number;
  /** Purchased credits just afterwards. */
  balance: number;
  note: string;
  /** Of the operator's, as an invoice's number. */
  reference: string | null;
}

/** Every grant of the account, the latest first. */
export async function loadGrants(sql: Sql, accountId: string): Promise<Grant[]> {
  return sql<Grant[]>`
    SELECT at, credits, balance, note, reference FROM account_events
    WHERE account_id = ${accountId} AND kind = 'credits' ORDER BY id DESC`;
}

/** A line of the history of purchased credits. */
export type Entry =
  | ({ kind: 'grant' } & Grant)
  /** The credits that calls beyond the allowance spent between two grants, or since the last one (`until` is `null`). */
  | { kind: 'spent'; from: Date; until: Date | null; credits: number; balance: number };

/**
 * The grants, and between them what was spent: the ledger has the balance after each grant, and what is missing before the next
 * one was spent by calls. The amounts add up to the balance.
 *
 * @param grants the latest first; @param balance purchased credits now
 * @returns the latest first
 */
export function creditHistory(grants: Grant[], balance: number): Entry[] {
  const entries: Entry[] = [];
  let next: { balance: number; at: Date | null } = { balance, at: null };
  for (const grant of grants) {
    const credits = next.balance - grant.balance;
    if (credits !== 0) {
      entries.push({ kind: 'spent', from: grant.at, until: next.at, credits, balance: next.balance });
    }
    entries.push({ kind: 'grant', ...grant });
    next = { balance: grant.balance - grant.credits, at: grant.at };
  }
  return entries;
}
