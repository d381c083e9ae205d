import type { Client } from '@elastic/elasticsearch';
import { compareCodePoints } from '../companies/name.ts';
import type { Sql } from '../postgres/connect.ts';
import { type SearchDocument, searchDocument } from '../search/document.ts';
import { countDocuments } from './indices.ts';
import { tablePages } from './pages.ts';
import { quoted } from './tools.ts';

/** Names that are looked for before an index may serve. */
const SAMPLES = 12;
/** Characters of a name that it is looked for by, if it has so many. */
const PREFIX_LENGTHS = [1, 3, 8, 24, 40];
const RESULTS = 20;

/**
 * Makes sure that an index is what the table is, before searches go to it: the same number of documents, and a sample
 * of names found by their own beginnings and by their NIF, in the right order.
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
  for (const sample of await sampleNames(sql, table)) {
    signal.throwIfAborted();
    await checkName(client, index, sample, signal);
  }
}

/** A row of each of some pages spread over the table. */
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
  const name = sample.normalized_name;
  const characters = [...name];
  const fail = (how: string): never => {
    throw new Error(`the new index doesn't find NIF ${sample.nif} ${how}`);
  };
  const byNif = await find(client, index, { term: { nif: sample.nif } }, signal);
  if (byNif[0]?.entry !== sample.entry) fail('by its NIF');
  for (const length of PREFIX_LENGTHS) {
    if (characters.length < length) break;
    const prefix = characters.slice(0, length).join('');
    // Both ways that searches go: the n-grams where the prefix is short enough, and the keyword itself.
    const query =
      length <= 24
        ? { term: { 'normalized_name.beginnings': prefix } }
        : { prefix: { normalized_name: prefix } };
    const found = await find(client, index, query, signal);
    const inOrder = found.every((document, i) => i === 0 || compareResults(found[i - 1]!, document) < 0);
    if (!inOrder || found.some((document) => !document.normalized_name.startsWith(prefix)))
      fail('in the right order');
    const last = found.at(-1);
    // Among the first results, or behind them when there are more.
    const isThere = found.some((document) => document.nif === sample.nif);
    if (!isThere && (found.length < RESULTS || compareResults(sample, last!) < 0)) fail(`by "${prefix}"`);
  }
}

function compareResults(a: SearchDocument, b: SearchDocument): number {
  return compareCodePoints(a.entry, b.entry);
}

async function find(
  client: Client,
  index: string,
  query: Record<string, Record<string, string>>,
  signal: AbortSignal,
): Promise<SearchDocument[]> {
  const { hits } = await client.search<SearchDocument>(
    { index, query: query as object, sort: ['entry'], size: RESULTS, track_total_hits: false },
    { signal },
  );
  return hits.hits.map(({ _source }) => _source!);
}
