import type { PendingQuery, Row } from 'postgres';
import type { Sql, Transaction } from './connect.ts';

export type RowsQuery = PendingQuery<Row[]>;

/** About 120 KB of the longest rows of an account. */
const ROWS_AT_A_TIME = 200;

/**
 * The rows of a query in batches, so that memory does not grow with them. Each FETCH is a statement with the bounds of its pool.
 * `cursor()` of postgres.js is one statement, so a slow reader would run into `statement_timeout`, and a silent server would not
 * be noticed.
 *
 * @param name of the cursor, unique among those of the transaction
 */
export async function* batchesOf<Found = Row>(
  sql: Transaction,
  name: string,
  query: RowsQuery,
): AsyncGenerator<Found[]> {
  await sql`DECLARE ${sql(name)} NO SCROLL CURSOR FOR ${query}`;
  for (;;) {
    const rows = await sql`FETCH ${sql.unsafe(String(ROWS_AT_A_TIME))} FROM ${sql(name)}`;
    if (rows.length === 0) break;
    yield [...rows] as Found[];
  }
  await sql`CLOSE ${sql(name)}`;
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
