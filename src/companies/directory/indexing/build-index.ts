import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../../platform/postgres/connect.ts';
import { quoted } from '../../../platform/postgres/identifier.ts';
import type { Progress } from '../../../platform/terminal/progress.ts';
import { MINUTE } from '../../../platform/units.ts';
import {
  directoryRow,
  MAX_GRAM,
  mappingFingerprint,
  type SearchEntry,
  searchDocument,
} from '../../search/document.ts';
import { createElasticsearchStore } from '../../search/elasticsearch.ts';
import { MAX_RESULTS } from '../../search/search.ts';
import type { GenerationReader } from '../../search/store.ts';
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

/** A checked index of exactly the rows of a table. No generation names it yet. */
export interface BuiltIndex {
  name: string;
  fingerprint: string;
}

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
 * @throws the error of Elasticsearch. An unfinished index stays behind; `_meta` identifies it
 */
export async function buildIndex(
  client: Client,
  sql: Sql,
  { prefix, directoryId, of, signal, progress }: BuildOptions,
): Promise<BuiltIndex> {
  const { tableName: table, rows } = of;
  const name = newIndexName(prefix, directoryId);
  const fingerprint = mappingFingerprint();
  progress.phase('indexing');
  await createIndex(client, name, { directory: directoryId, generation: of.id, fingerprint });
  await loadTable(client, sql, { table, rows }, name, { signal, progress });
  progress.phase('merging the index');
  await mergeIndex(client, name, signal);
  progress.phase('checking the index');
  await refreshIndex(client, name, signal);
  await checkIndex(client, sql, name, of, signal);
  await finishIndex(client, name, signal);
  // Before any search uses the index, because with one copy the death of its node would end every search.
  await untilCopied(client, name, { signal, progress });
  return { name, fingerprint };
}

/** The number of names that a new index must find. */
const SAMPLES = 12;
/** Lengths of the prefixes that are searched, below and above the one from which searches use another query. */
const PREFIX_LENGTHS = [1, 3, 8, MAX_GRAM, MAX_GRAM + 1, MAX_GRAM + 16];
/** All samples are asked at once. */
const CHECK = { name: 'Elasticsearch', queueTimeoutMs: MINUTE, timeoutMs: MINUTE };

/**
 * Compares an index with its table before searches use it. The numbers of documents and rows must be equal, and a sample of names
 * must be found by their prefixes, words and NIFs, in the right order, as searches find them.
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
  const samples = await sampleNames(sql, table);
  const reader = createElasticsearchStore(client, CHECK)({ id, table, index, rows }, async (work) => work);
  await Promise.all(samples.map((sample) => checkName(reader, sample)));
}

/** One row of each of some pages, spread over the table. */
async function sampleNames(sql: Sql, table: string): Promise<SearchEntry[]> {
  const pages = await tablePages(sql, table);
  const samples: SearchEntry[] = [];
  const step = Math.max(1, pages / SAMPLES);
  for (let at = Math.random() * Math.min(step, pages); at < pages; at += step) {
    const page = Math.floor(at);
    const [row] = await sql.unsafe<SearchEntry[]>(
      `SELECT nif, legal_name AS "legalName" FROM ${quoted(table)} WHERE ctid >= '(${page},0)' AND ctid < '(${page + 1},0)' LIMIT 1`,
    );
    if (row !== undefined) samples.push(row);
  }
  return samples;
}

const documentOf = ({ nif, legalName }: SearchEntry) => searchDocument(directoryRow(nif, legalName));

async function checkName(reader: GenerationReader, sample: SearchEntry): Promise<void> {
  const { nif, normalized_name: name, entry } = documentOf(sample);
  const check = (found: SearchEntry[], how: string, begins = '') => {
    const documents = found.map(documentOf);
    const last = documents.at(-1)?.entry;
    // It is among the results, or behind them if there are more.
    const isFound =
      documents.some((one) => one.entry === entry) ||
      (found.length === MAX_RESULTS && isBefore(last!, entry));
    const inOrder = documents.every((one, at) => at === 0 || isBefore(documents[at - 1]!.entry, one.entry));
    if (!isFound || !inOrder || documents.some((one) => !one.normalized_name.startsWith(begins)))
      throw new IndexError(`the new index doesn't find NIF ${nif} ${how}`);
  };
  check((await reader.byNif(nif)).slice(0, 1), 'by its NIF');
  const characters = [...name];
  for (const length of PREFIX_LENGTHS.filter((length) => length <= characters.length)) {
    const prefix = characters.slice(0, length).join('');
    check(await reader.byPrefix(prefix, false), `by "${prefix}"`, prefix);
  }
  if (name === '') return;
  const words = name.split(' ').map((word) => [[word]]);
  check(await reader.byWords(words, null, MAX_RESULTS), 'by its words');
}

/** In the order of code points, which is that of UTF-8 (docs/api.md: order of results). */
function isBefore(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
}
