import type { Client } from '@elastic/elasticsearch';
import { compareCodePoints, normalizeName } from '../companies/name.ts';
import type { Sql } from '../postgres/connect.ts';
import { quoted } from '../postgres/identifier.ts';
import { MAX_GRAM, readEntry, type SearchDocument, searchDocument } from '../search/document.ts';
import { prefixFilter, searchBody } from '../search/msearch.ts';
import { MAX_RESULTS } from '../search/search.ts';
import { countDocuments } from './indices.ts';
import { tablePages } from './pages.ts';

/** The number of names that a new index must find. */
const SAMPLES = 12;
/** Lengths of the prefixes that are searched, below and above the one from which searches use another query. */
const PREFIX_LENGTHS = [1, 3, 8, MAX_GRAM, MAX_GRAM + 1, MAX_GRAM + 16];

/**
 * Compares an index with its table before searches use it: the number of documents, and a sample of names that must be found
 * by their prefixes and by their NIF, in the right order.
 *
 * @throws Error naming what is wrong
 */
export async function checkIndex(
  client: Client,
  sql: Sql,
  { index, table, rows, signal }: { index: string; table: string; rows: number; signal: AbortSignal },
): Promise<void> {
  const documents = await countDocuments(client, index, signal);
  if (documents !== rows) throw new Error(`the new index has ${documents} documents for ${rows} rows`);
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
    const [row] = await sql.unsafe<{ nif: string; legal_name: string }[]>(
      `SELECT nif, legal_name FROM ${quoted(table)} WHERE ctid >= '(${page},0)' AND ctid < '(${page + 1},0)' LIMIT 1`,
    );
    if (row !== undefined) samples.push(searchDocument(row.nif, row.legal_name));
  }
  return samples;
}

async function checkName(
  client: Client,
  index: string,
  sample: SearchDocument,
  signal: AbortSignal,
): Promise<void> {
  const characters = [...sample.normalized_name];
  const fail = (how: string): never => {
    throw new Error(`the new index doesn't find NIF ${sample.nif} ${how}`);
  };
  const byNif = await find(client, index, { term: { nif: sample.nif } }, signal);
  if (byNif[0] !== sample.entry) fail('by its NIF');
  for (const length of PREFIX_LENGTHS) {
    if (characters.length < length) break;
    const prefix = characters.slice(0, length).join('');
    const found = await find(client, index, prefixFilter(prefix), signal);
    const inOrder = found.every((entry, i) => i === 0 || compareCodePoints(found[i - 1]!, entry) < 0);
    if (!inOrder || found.some((entry) => !normalizeName(readEntry(entry).legalName).startsWith(prefix)))
      fail('in the right order');
    // It is among the results, or behind them if there are more.
    const isThere = found.includes(sample.entry);
    if (!isThere && (found.length < MAX_RESULTS || compareCodePoints(sample.entry, found.at(-1)!) < 0))
      fail(`by "${prefix}"`);
  }
}

/** The entries that a search finds, by the query and the parser of searches. */
async function find(client: Client, index: string, filter: object, signal: AbortSignal): Promise<string[]> {
  const { hits } = await client.search({ index, ...searchBody(filter) }, { signal });
  return hits.hits.map(({ sort }) => sort![0] as string);
}
