import type { PendingQuery, Row } from 'postgres';
import type { Sql, Transaction } from './connect.ts';

export type RowsQuery = PendingQuery<Row[]>;

/** About 120 KB of the longest rows of an account. */
const FETCH = 'FETCH 200 FROM batches';
/** Rows that one statement of {@link removeInParts} removes. */
const REMOVED_AT_ONCE = 5000;

/**
 * The rows of a query in batches, so that memory does not grow with them, of one query after another in a transaction. Each FETCH is
 * a statement with the bounds of its pool. `cursor()` of postgres.js is one statement, so a slow reader would run into
 * `statement_timeout`, and a silent server would not be noticed.
 */
export async function* batchesOf<Found = Row>(sql: Transaction, query: RowsQuery): AsyncGenerator<Found[]> {
  await sql`DECLARE batches NO SCROLL CURSOR FOR ${query}`;
  for (;;) {
    // Not prepared: postgres.js would read these rows with the columns of the cursor before.
    const rows = await sql.unsafe(FETCH);
    if (rows.length === 0) break;
    yield [...rows] as Found[];
  }
  await sql.unsafe('CLOSE batches');
}

/** The rows between two ids, from one end on. */
export interface Slice {
  /** Absent: from the first id on. */
  above?: number | undefined;
  /** Absent: up to the last id. */
  below?: number | undefined;
  order: 'ASC' | 'DESC';
  rows: number;
}

/** SQL for a slice, behind a condition. It reads no row before the slice, as OFFSET does. */
export function inSlice(sql: Sql, id: RowsQuery, { above = 0, below, order, rows }: Slice) {
  return sql`
    AND ${id} > ${above} AND ${id} < ${below ?? Number.MAX_SAFE_INTEGER} ORDER BY ${id} ${sql.unsafe(order)} LIMIT ${rows}`;
}

/**
 * All rows of a list in pages, each behind the last row of the page before. Nothing is held between two pages, so that their
 * reader may take its time.
 */
export async function* inPages<Found>(
  read: (last: Found | undefined) => Promise<Found[]>,
): AsyncGenerator<Found[]> {
  for (let rows = await read(undefined); rows.length > 0; rows = await read(rows.at(-1))) yield rows;
}

/**
 * Removes the rows of a condition in parts, because one statement for very many rows does not end within its timeout. Rows that another
 * statement has locked stay. So it waits for no row, and can't deadlock with a statement that locks several rows in another order.
 */
export async function removeInParts(
  sql: Sql,
  table: string,
  condition: RowsQuery,
  atOnce = REMOVED_AT_ONCE,
): Promise<void> {
  for (let rows = atOnce; rows === atOnce; ) {
    const removed = await sql`
      DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${sql(table)} WHERE ${condition} LIMIT ${atOnce} FOR UPDATE SKIP LOCKED))`;
    rows = removed.count;
  }
}
