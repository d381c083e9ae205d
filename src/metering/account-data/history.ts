import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import type { AccountEvent } from '../accounts/events.ts';
import { unknownAccount } from '../accounts/store.ts';

/** One event of an account: a row of its ledger (contract: `account history`). */
export interface HistoryEntry extends AccountEvent {
  at: Date;
  /** Id of the key that was created, rotated, renamed or revoked. */
  key?: string;
  keyName?: string;
}

/** A row of {@link historyRows}. */
export type HistoryRow = { [Member in keyof HistoryEntry]-?: HistoryEntry[Member] | null };

/** SQL for the ledger of an account, in no order; `e` is the event. */
export function historyRows(sql: Sql | Transaction, id: string) {
  return sql`
    SELECT e.at, e.kind, e.actor, e.credits, e.balance, nullif(e.note, '') AS note, e.reference,
      e.detail ->> 'key' AS key, nullif(k.name, '') AS "keyName", nullif(e.detail - 'key', '{}') AS detail
    FROM account_events e LEFT JOIN api_keys k ON k.id = e.detail ->> 'key' AND k.account_id = e.account_id
    WHERE e.account_id = ${id}`;
}

/** The event of a row: members without a value are absent. */
export function entryOf(row: HistoryRow): HistoryEntry {
  return Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== null),
  ) as unknown as HistoryEntry;
}

/**
 * The ledger of an account, oldest first, also of a deleted account.
 *
 * @param latest the number of its latest events; `null` means all of them
 * @throws RefusedError for an unknown account
 */
export async function loadHistory(
  sql: Sql,
  id: string,
  latest: number | null = null,
): Promise<HistoryEntry[]> {
  const rows = await sql<HistoryRow[]>`${historyRows(sql, id)} ORDER BY e.id DESC LIMIT ${latest}`;
  // Every account has the event of its creation.
  if (rows.length === 0) throw unknownAccount(id);
  return rows.toReversed().map(entryOf);
}
