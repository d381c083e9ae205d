import type { Sql } from '../postgres/connect.ts';
import { quoted } from '../postgres/identifier.ts';

/** About 5,000 rows of usual names. */
const PAGES_PER_RANGE = 100;

/** Of a row: its NIF and its legal name. */
type PageRow = [nif: string, legalName: string];

/** Work on all rows of a table. */
export interface PageWork<Prepared> {
  /** Ranges of pages in progress at a time. */
  streams: number;
  signal: AbortSignal;
  /** Runs while the range before it is worked on. */
  prepare(rows: PageRow[]): Prepared;
  work(prepared: Prepared): Promise<void>;
  /** @param fraction the part of the table that is done, 0 to 1 */
  onRows(rows: number, fraction: number): void;
}

/** The number of a table's pages. */
export async function tablePages(sql: Sql, table: string): Promise<number> {
  const [row] = await sql<{ pages: number }[]>`
    SELECT (pg_relation_size(${table}::text::regclass) / current_setting('block_size')::int)::int AS pages`;
  return row!.pages;
}

/**
 * Reads a generation's table by ranges of its pages (`ctid`), each with a short query, because a cursor over millions of rows
 * would delay the vacuum of every other table for minutes. The rows of a generation never change, so the ranges cover all of
 * them. The first failure ends the work.
 */
export async function eachPage<Prepared>(
  sql: Sql,
  table: string,
  { streams, signal, prepare, work, onRows }: PageWork<Prepared>,
): Promise<void> {
  const pages = await tablePages(sql, table);
  let next = 0;
  let rowsDone = 0;
  let pagesDone = 0;
  let failed = false;

  const take = () => {
    if (next >= pages || failed) return null;
    const first = next;
    next = Math.min(first + PAGES_PER_RANGE, pages);
    const end = next;
    const taken = (async () => {
      const rows = (await sql
        .unsafe(
          `SELECT nif, legal_name FROM ${quoted(table)} WHERE ctid >= '(${first},0)' AND ctid < '(${end},0)'`,
        )
        .values()) as unknown as PageRow[];
      return { prepared: prepare(rows), rows: rows.length, pages: end - first };
    })();
    taken.catch(() => {}); // awaited below, unless the range before it fails
    return taken;
  };
  const run = async () => {
    try {
      for (let taken = take(); taken !== null; ) {
        signal.throwIfAborted();
        const range = await taken;
        taken = take();
        await work(range.prepared);
        rowsDone += range.rows;
        pagesDone += range.pages;
        onRows(rowsDone, pagesDone / pages);
      }
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: streams }, run));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
