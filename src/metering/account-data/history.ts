import { inPages, inSlice, type Slice } from '../../platform/postgres/batches.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { unknownAccount } from '../accounts/account-store.ts';
import type { AccountEvent } from '../accounts/events.ts';

/** One event of an account: a row of its ledger (docs/commands.md). */
export interface HistoryEntry extends AccountEvent {
  at: Date;
  /** Id of the key that was created, rotated, renamed or revoked. */
  key?: string;
  keyName?: string;
}

/** A row of {@link historyRows}. */
export type HistoryRow = { [Member in keyof HistoryEntry]-?: HistoryEntry[Member] | null };

/** SQL for the ledger of an account, in no order; `e` is the event. @param further columns */
export function historyRows(sql: Sql | Transaction, id: string, further = sql``) {
  return sql`
    SELECT e.at, e.kind, e.actor, e.credits, e.balance, nullif(e.note, '') AS note, e.reference,
      e.detail ->> 'key' AS key, nullif(k.name, '') AS "keyName", nullif(e.detail - 'key', '{}') AS detail
      ${further}
    FROM account_events e LEFT JOIN api_keys k ON k.id = e.detail ->> 'key' AND k.account_id = e.account_id
    WHERE e.account_id = ${id}`;
}

/** The event of a row: members without a value are absent. */
export function entryOf(row: HistoryRow): HistoryEntry {
  return Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== null),
  ) as unknown as HistoryEntry;
}

/** An event with its number, which grows with time. */
type NumberedEntry = HistoryEntry & { id: number };

const OLDEST = { order: 'ASC', rows: 1000 } as const;

/**
 * A slice of the ledger of an account, by default its first thousand events; also of a deleted account.
 * @throws RefusedError for an unknown account
 */
export async function loadHistory(sql: Sql, accountId: string, slice: Slice = OLDEST) {
  const rows = await sql<(HistoryRow & { id: number })[]>`
    ${historyRows(sql, accountId, sql`, e.id`)} ${inSlice(sql, sql`e.id`, slice)}`;
  const { above, below } = slice;
  // Every account has the event of its creation.
  if (rows.length === 0 && above === undefined && below === undefined) throw unknownAccount(accountId);
  return rows.map((row) => ({ ...entryOf(row), id: row.id }));
}

/** The ledger of an account in pages, oldest first; also of a deleted account. @throws RefusedError for an unknown account */
export async function* wholeHistory(sql: Sql, accountId: string): AsyncGenerator<HistoryEntry[]> {
  const pages = inPages<NumberedEntry>((last) => loadHistory(sql, accountId, { ...OLDEST, above: last?.id }));
  for await (const page of pages) yield page.map(({ id: _, ...entry }) => entry);
}
