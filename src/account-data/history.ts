import type { AccountEvent } from '../accounts/events.ts';
import { unknownAccount } from '../accounts/store.ts';
import type { Sql, Transaction } from '../postgres/connect.ts';

/** One event of an account: a row of its ledger (contract: `account history`). */
export interface HistoryEntry extends AccountEvent {
  at: Date;
  /** Id of the key that was created, rotated, renamed or revoked. */
  key?: string;
  keyName?: string;
}

/**
 * The ledger of an account, oldest first, also of a deleted account.
 *
 * @param latest the number of its latest events; `null` means all of them
 * @throws RefusedError for an unknown account
 */
export async function loadHistory(
  sql: Sql | Transaction,
  id: string,
  latest: number | null = null,
): Promise<HistoryEntry[]> {
  const rows = await sql<Required<HistoryEntry>[]>`
    SELECT e.at, e.kind, e.actor, e.credits, e.balance, nullif(e.note, '') AS note, e.reference,
      e.detail ->> 'key' AS key, nullif(k.name, '') AS "keyName", nullif(e.detail - 'key', '{}') AS detail
    FROM accounts a LEFT JOIN account_events e ON e.account_id = a.id
    LEFT JOIN api_keys k ON k.id = e.detail ->> 'key' AND k.account_id = a.id
    WHERE a.id = ${id} ORDER BY e.id DESC LIMIT ${latest}`;
  if (rows.length === 0) throw unknownAccount(id);
  return rows
    .toReversed()
    .filter(({ at }) => at !== null)
    .map(
      (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as typeof row,
    );
}
