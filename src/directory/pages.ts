import type { Sql } from '../postgres/connect.ts';

/**
 * A generation's table is read by ranges of its pages (`ctid`), each by a short query: a cursor over millions
 * of rows would hold back the clean-up of every other table for minutes. Nothing ever changes a generation's
 * table, so the ranges make up the whole of it.
 */
export interface PageRange {
  /** The first page. */
  first: number;
  /** The page after the last. */
  end: number;
}

/** Some 5,000 rows of usual names. */
const PAGES_PER_RANGE = 100;

/** How many pages a table has. */
export async function tablePages(sql: Sql, table: string): Promise<number> {
  const [row] = await sql<{ pages: number }[]>`
    SELECT (pg_relation_size(${table}::text::regclass) / current_setting('block_size')::int)::int AS pages`;
  return row!.pages;
}

/** Calls `work` for every range, `workers` of them at a time; the first failure ends it. */
export async function eachPage(
  pages: number,
  work: (range: PageRange) => Promise<void>,
  workers = 1,
): Promise<void> {
  let next = 0;
  let failed = false;
  const run = async () => {
    while (next < pages && !failed) {
      const first = next;
      next = Math.min(first + PAGES_PER_RANGE, pages);
      try {
        await work({ first, end: next });
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: workers }, run));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
