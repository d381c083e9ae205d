/** Reads a generation's table in short queries, and fills an Elasticsearch index from it. */
import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../postgres/connect.ts';
import { quoted } from '../postgres/identifier.ts';
import { createTextBuffer, type TextBuffer } from '../runtime/text-buffer.ts';
import { MIB } from '../units.ts';
import { deleteLine, indexLines, sendBulk } from './bulk.ts';

/** About 5,000 rows of usual names. */
const PAGES_PER_RANGE = 100;

/** Of a row: its NIF and its legal name. */
type PageRow = [nif: string, legalName: string];

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

/**
 * Bulk requests in flight. Elasticsearch has one thread a core, and uses one for each request. Four requests keep three cores
 * busy while an answer is in flight. Measured on two cores only (docs/operating.md, Sizing).
 */
const STREAMS = 4;

/**
 * A table of up to this many rows is sent by one request at a time. Lucene then writes one segment in the order of the rows, so
 * nothing is sorted or merged. 100,000 rows took 2.7 s so, and 2.9 s by four requests and a merge (two cores), which
 * leave no core for preparing the requests. A larger table doesn't fit into Lucene's buffer, so it is merged in any case.
 */
const ONE_SEGMENT_ROWS = 150_000;

/** A request of usual names: 1.2 MB. */
const REQUEST_BYTES = 2 * MIB;

export interface LoadOptions {
  signal: AbortSignal;
  onRows(rows: number, fraction: number): void;
}

/**
 * Indexes all rows of a table. Memory is bounded by the requests in flight, whatever the table's size.
 * @param sql a pool: each request in flight has a connection for its rows
 */
export async function loadTable(
  client: Client,
  sql: Sql,
  { table, rows }: { table: string; rows: number },
  index: string,
  { signal, onRows }: LoadOptions,
): Promise<void> {
  const buffers: TextBuffer[] = [];
  await eachPage(sql, table, {
    streams: rows <= ONE_SEGMENT_ROWS ? 1 : STREAMS,
    signal,
    onRows,
    prepare(page) {
      const lines = buffers.pop() ?? createTextBuffer(REQUEST_BYTES);
      for (const [nif, legalName] of page) lines.append(indexLines(nif, legalName));
      return lines;
    },
    async work(lines) {
      if (lines.length > 0) await sendBulk(client, index, lines.bytes(), signal);
      lines.clear();
      buffers.push(lines);
    },
  });
}

/** Changes of an index that are fetched and sent at a time. */
const CHANGES_PER_REQUEST = 2_000;

/** The changes that make an index equal to the new directory. */
export interface Changes {
  /** The connection that has the staged rows. */
  sql: Sql;
  /** Returns `nif` and `legal_name`; a `null` name removes the entry. */
  query: string;
  count: number;
}

export async function loadChanges(
  client: Client,
  changes: Changes,
  index: string,
  { signal, onRows }: LoadOptions,
): Promise<void> {
  let done = 0;
  const lines = createTextBuffer(REQUEST_BYTES);
  const batches = changes.sql
    .unsafe<{ nif: string; legal_name: string | null }[]>(changes.query)
    .cursor(CHANGES_PER_REQUEST);
  for await (const batch of batches) {
    for (const { nif, legal_name } of batch)
      lines.append(legal_name === null ? deleteLine(nif) : indexLines(nif, legal_name));
    await sendBulk(client, index, lines.bytes(), signal);
    lines.clear();
    done += batch.length;
    onRows(done, done / changes.count);
  }
}
