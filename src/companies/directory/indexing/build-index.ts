import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../../platform/postgres/connect.ts';
import { quoted } from '../../../platform/postgres/identifier.ts';
import type { Progress } from '../../../platform/terminal/progress.ts';
import { MINUTE } from '../../../platform/units.ts';
import { type DirectoryRow, MAX_GRAM, mappingFingerprint, type SearchEntry } from '../../search/document.ts';
import { createElasticsearchStore } from '../../search/elasticsearch-store.ts';
import type { GenerationReader } from '../../search/generation-reader.ts';
import { MAX_RESULTS } from '../../search/search.ts';
import { untilCopied } from './copies.ts';
import {
  countDocuments,
  createIndex,
  finishIndex,
  IndexError,
  mergeIndex,
  newIndexName,
  refreshIndex,
} from './indices.ts';
import { loadTable, tablePages } from './load.ts';

export interface BuildOptions {
  prefix: string;
  directoryId: string;
  /** The generation, and its table. */
  of: { id: number; tableName: string; rows: number };
  signal: AbortSignal;
  progress: Progress;
}

/**
 * Builds the index of a table: loads it, merges it, refreshes it, checks it, and waits for its copies on other nodes.
 * @param sql a pool
 * @returns its name, which no generation has yet
 * @throws the error of Elasticsearch. An unfinished index stays behind; `_meta` identifies it
 */
export async function buildIndex(
  client: Client,
  sql: Sql,
  { prefix, directoryId, of, signal, progress }: BuildOptions,
): Promise<string> {
  const { tableName: table, rows } = of;
  const name = newIndexName(prefix, directoryId);
  progress.phase('indexing');
  await createIndex(client, name, {
    directory: directoryId,
    generation: of.id,
    fingerprint: mappingFingerprint(),
  });
  await loadTable(client, sql, { table, rows }, name, { signal, progress });
  progress.phase('merging the index');
  await mergeIndex(client, name, signal);
  progress.phase('checking the index');
  await refreshIndex(client, name, signal);
  await checkIndex(client, sql, name, of, signal);
  await finishIndex(client, name, signal);
  // Before any search uses the index, because with one copy the death of its node would end every search.
  await untilCopied(client, name, { signal, progress });
  return name;
}

/** The number of names that a new index must find. */
const SAMPLES = 12;
/** All samples are asked at once. */
const CHECK = { name: 'Elasticsearch', queueTimeoutMs: MINUTE, timeoutMs: MINUTE };

/**
 * Compares an index with its table before searches use it. The numbers of documents and rows must be equal, and searches must find a
 * sample of names by their NIFs, beginnings and words.
 *
 * @throws Error naming what is wrong
 */
export async function checkIndex(
  client: Client,
  sql: Sql,
  index: string,
  { id, tableName: table, rows }: BuildOptions['of'],
  signal: AbortSignal,
): Promise<void> {
  const documents = await countDocuments(client, index, signal);
  if (documents !== rows) throw new IndexError(`the new index has ${documents} documents for ${rows} rows`);
  const reader = createElasticsearchStore(client, CHECK)({ id, table, index, rows });
  const samples = await sampleRows(sql, table);
  await Promise.all(samples.map((sample) => checkRow(reader, sample)));
}

/** One row of each of some pages, spread over the table. */
async function sampleRows(sql: Sql, table: string): Promise<DirectoryRow[]> {
  const pages = await tablePages(sql, table);
  const samples: DirectoryRow[] = [];
  const step = Math.max(1, pages / SAMPLES);
  for (let at = Math.random() * Math.min(step, pages); at < pages; at += step) {
    const page = Math.floor(at);
    const [row] = await sql.unsafe<DirectoryRow[]>(
      `SELECT nif, legal_name, normalized_name FROM ${quoted(table)} WHERE ctid >= '(${page},0)' AND ctid < '(${page + 1},0)' LIMIT 1`,
    );
    if (row !== undefined) samples.push(row);
  }
  return samples;
}

async function checkRow(reader: GenerationReader, row: DirectoryRow): Promise<void> {
  const { nif, normalized_name: name } = row;
  const check = (found: SearchEntry[], how: string, most = MAX_RESULTS) => {
    const isFound = found.some((entry) => entry.nif === nif && entry.legalName === row.legal_name);
    // It may be behind as many others.
    if (!isFound && found.length < most)
      throw new IndexError(`the new index doesn't find NIF ${nif} by ${how}`);
  };
  check(await reader.byNif(nif), 'its NIF', Number.POSITIVE_INFINITY);
  if (name === '') return;
  // A longer beginning is another query.
  for (const prefix of [[...name].slice(0, MAX_GRAM).join(''), name])
    check(await reader.byPrefix(prefix, true), `"${prefix}"`);
  const words = name.split(' ').map((word) => [[word]]);
  check(await reader.byWords(words, null, MAX_RESULTS), 'its words');
}
