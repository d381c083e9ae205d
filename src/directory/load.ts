/** Fills an Elasticsearch index from Postgres. */
import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../postgres/connect.ts';
import { quoted } from '../postgres/identifier.ts';
import { createTextBuffer, type TextBuffer } from '../runtime/text-buffer.ts';
import { MIB } from '../units.ts';
import { deleteLine, indexLines, sendBulk } from './bulk.ts';
import { eachPage, tablePages } from './pages.ts';

/**
 * Requests under way at once. Elasticsearch works on each in one thread, of which it has as many as cores: this keeps three
 * cores busy while an answer is on its way and the next request is being put together, and leaves those beyond four idle.
 * Measured on two cores only (docs/operating.md, Sizing).
 */
const WORKERS = 4;

/** A request of usual names: 1.2 MB. */
const REQUEST_BYTES = 2 * MIB;

export interface LoadOptions {
  signal: AbortSignal;
  onRows(rows: number, fraction: number): void;
}

/**
 * Indexes all rows of a table. Memory is bounded by the requests under way, whatever the table's size.
 * @param sql a pool: every request under way reads its rows on its own connection
 */
export async function loadTable(
  client: Client,
  sql: Sql,
  table: string,
  index: string,
  { signal, onRows }: LoadOptions,
): Promise<void> {
  const pages = await tablePages(sql, table);
  let rowsDone = 0;
  let pagesDone = 0;
  const buffers: TextBuffer[] = [];
  await eachPage(
    pages,
    async ({ first, end }) => {
      signal.throwIfAborted();
      const rows = await sql
        .unsafe(
          `SELECT nif, legal_name FROM ${quoted(table)} WHERE ctid >= '(${first},0)' AND ctid < '(${end},0)'`,
        )
        .values();
      const lines = buffers.pop() ?? createTextBuffer(REQUEST_BYTES);
      for (const [nif, legalName] of rows as unknown as [string, string][]) {
        lines.append(indexLines(nif, legalName));
      }
      if (lines.length > 0) await sendBulk(client, index, lines.bytes(), signal);
      lines.clear();
      buffers.push(lines);
      rowsDone += rows.length;
      pagesDone += end - first;
      onRows(rowsDone, pagesDone / pages);
    },
    WORKERS,
  );
}

/** Changes to an index are fetched, and sent, so many at a time. */
const CHANGES_PER_REQUEST = 2_000;

/** What differs between the rows of an index and the directory to be: a NIF and its name; null: to be removed. */
export interface Changes {
  /** Read on the connection that has the staged rows. */
  sql: Sql;
  /** Answers `nif` and `legal_name`. */
  query: string;
  count: number;
}

/** Applies changes to an index. */
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
