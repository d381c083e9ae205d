import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../../platform/postgres/connect.ts';
import { quoted } from '../../../platform/postgres/identifier.ts';
import type { Progress } from '../../../platform/terminal/progress.ts';
import { matchFilter } from '../../matches/elasticsearch.ts';
import { wordsQuery } from '../../matches/query.ts';
import { normalizeName } from '../../name.ts';
import {
  type DirectoryRow,
  MAX_GRAM,
  mappingFingerprint,
  readEntry,
  type SearchDocument,
  searchDocument,
} from '../../search/document.ts';
import { prefixFilter, searchBody } from '../../search/msearch.ts';
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
  await checkIndex(client, sql, { index: name, table, rows, signal });
  await finishIndex(client, name, signal);
  // Before any search uses the index, because with one copy the death of its node would end every search.
  await untilCopied(client, name, { signal, progress });
  return { name, fingerprint };
}

/** The number of names that a new index must find. */
const SAMPLES = 12;
/** Lengths of the prefixes that are searched, below and above the one from which searches use another query. */
const PREFIX_LENGTHS = [1, 3, 8, MAX_GRAM, MAX_GRAM + 1, MAX_GRAM + 16];

/**
 * Compares an index with its table before searches use it. The numbers of documents and rows must be equal, and a sample of names
 * must be found by their prefixes, words and NIFs, in the right order.
 *
 * @throws Error naming what is wrong
 */
export async function checkIndex(
  client: Client,
  sql: Sql,
  { index, table, rows, signal }: { index: string; table: string; rows: number; signal: AbortSignal },
): Promise<void> {
  const documents = await countDocuments(client, index, signal);
  if (documents !== rows) throw new IndexError(`the new index has ${documents} documents for ${rows} rows`);
  const samples = await sampleNames(sql, table);
  await Promise.all(samples.map((sample) => checkName(client, index, sample, signal)));
}

/** One row of each of some pages, spread over the table. */
async function sampleNames(sql: Sql, table: string): Promise<SearchDocument[]> {
  const pages = await tablePages(sql, table);
  const samples: SearchDocument[] = [];
  const step = Math.max(1, pages / SAMPLES);
  for (let at = Math.random() * Math.min(step, pages); at < pages; at += step) {
    const page = Math.floor(at);
    const [row] = await sql.unsafe<DirectoryRow[]>(
      `SELECT nif, legal_name, normalized_name, sort_key FROM ${quoted(table)} WHERE ctid >= '(${page},0)' AND ctid < '(${page + 1},0)' LIMIT 1`,
    );
    if (row !== undefined) samples.push(searchDocument(row));
  }
  return samples;
}

async function checkName(
  client: Client,
  index: string,
  { nif, normalized_name, entry }: SearchDocument,
  signal: AbortSignal,
): Promise<void> {
  /** The entries that a search finds, by the query and the parser of searches. */
  const find = async (filter: object) => {
    const { hits } = await client.search({ index, ...searchBody(filter) }, { signal });
    return hits.hits.map(({ sort }) => String(sort![0]));
  };
  const fail = (how: string): never => {
    throw new IndexError(`the new index doesn't find NIF ${nif} ${how}`);
  };
  /** Whether it is among the results, or behind them if there are more. */
  const isIn = (found: string[]) =>
    found.includes(entry) || (found.length === MAX_RESULTS && isBefore(found.at(-1)!, entry));
  if ((await find({ term: { nif } }))[0] !== entry) fail('by its NIF');
  const characters = [...normalized_name];
  for (const length of PREFIX_LENGTHS.filter((length) => length <= characters.length)) {
    const prefix = characters.slice(0, length).join('');
    const found = await find(prefixFilter(prefix));
    const inOrder = found.every((next, i) => i === 0 || isBefore(found[i - 1]!, next));
    if (!inOrder || found.some((one) => !normalizeName(readEntry(one).legalName).startsWith(prefix)))
      fail('in the right order');
    if (!isIn(found)) fail(`by "${prefix}"`);
  }
  if (characters.length > 0 && !isIn(await find(matchFilter(wordsQuery(normalized_name)))))
    fail('by its words');
}

/** In the order of code points, which is that of UTF-8 (docs/api.md: order of results). */
function isBefore(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
}
