/** Reads a generation's table in short queries, and fills an Elasticsearch index from it. */
import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../../platform/postgres/connect.ts';
import { quoted } from '../../../platform/postgres/identifier.ts';
import { createTextBuffer } from '../../../platform/runtime/text-buffer.ts';
import type { Progress } from '../../../platform/terminal/progress.ts';
import { MIB } from '../../../platform/units.ts';
import type { CurrentGeneration } from '../../search/current.ts';
import type { DirectoryEntry } from '../../search/document.ts';
import { DIRECTORY_ENTRY } from '../../search/postgres-store.ts';
import { indexLines, sendBulk } from './bulk.ts';

/** About 5,000 rows of usual names. */
const PAGES_PER_RANGE = 100;

/**
 * Reads a generation's table by ranges of its pages (`ctid`), each with a short query. A cursor over millions of rows would delay
 * the vacuum of every other table for minutes. The rows of a generation never change, so the ranges cover all of
 * them. Several loops may share one reader; the first that fails ends it for all.
 */
export async function* readPages(
  sql: Sql,
  table: string,
  signal: AbortSignal,
): AsyncGenerator<DirectoryEntry[]> {
  const [row] = await sql<{ pages: number }[]>`
    SELECT (pg_relation_size(${table}::text::regclass) / current_setting('block_size')::int)::int AS pages`;
  for (let first = 0; first < row!.pages; first += PAGES_PER_RANGE) {
    signal.throwIfAborted();
    const end = first + PAGES_PER_RANGE;
    yield await sql.unsafe<DirectoryEntry[]>(
      `SELECT ${DIRECTORY_ENTRY} FROM ${quoted(table)}
        WHERE ctid >= '(${first},0)' AND ctid < '(${end},0)'`,
    );
  }
}

/**
 * Bulk requests in flight. Elasticsearch has one thread a core, and uses one for each request. Four requests keep three cores
 * busy while an answer is in flight. Measured on two cores only (docs/imports.md, What it takes).
 */
const STREAMS = 4;

/** A request of usual names: 1.2 MB. */
const REQUEST_BYTES = 2 * MIB;

export interface LoadOptions {
  signal: AbortSignal;
  progress: Pick<Progress, 'phase' | 'update'>;
}

/**
 * Indexes all rows of a table. Memory is bounded by the requests in flight, whatever the table's size.
 * @param sql a pool
 */
export async function loadTable(
  client: Client,
  sql: Sql,
  { table, rows }: Pick<CurrentGeneration, 'table' | 'rows'>,
  index: string,
  { signal, progress }: LoadOptions,
): Promise<void> {
  const pages = readPages(sql, table, signal);
  let done = 0;
  const send = async () => {
    const lines = createTextBuffer(REQUEST_BYTES);
    for await (const page of pages) {
      for (const row of page) lines.append(indexLines(row));
      if (lines.length > 0) await sendBulk(client, index, lines.bytes(), signal);
      lines.clear();
      done += page.length;
      progress.update(done, done / rows);
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: STREAMS }, send));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
