/** Fills an Elasticsearch index from Postgres. */
import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../postgres/connect.ts';
import { createTextBuffer, type TextBuffer } from '../runtime/text-buffer.ts';
import { MIB } from '../units.ts';
import { deleteLine, indexLines, sendBulk } from './bulk.ts';
import { eachPage } from './pages.ts';

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
