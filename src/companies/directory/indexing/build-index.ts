import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../../platform/postgres/connect.ts';
import type { Progress } from '../../../platform/terminal/progress.ts';
import { MINUTE } from '../../../platform/units.ts';
import type { CurrentGeneration } from '../../search/current.ts';
import { type DirectoryEntry, MAX_GRAM, mappingFingerprint } from '../../search/document.ts';
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
import { loadTable, readPages } from './load.ts';

export interface BuildOptions {
  prefix: string;
  directoryId: string;
  of: Pick<CurrentGeneration, 'table' | 'rows'>;
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
  const name = newIndexName(prefix, directoryId);
  progress.phase('indexing');
  await createIndex(client, name, { directory: directoryId, fingerprint: mappingFingerprint() });
  await loadTable(client, sql, of, name, { signal, progress });
  progress.phase('merging the index');
  await mergeIndex(client, name, signal);
  progress.phase('checking the index');
  await refreshIndex(client, name, signal);
  const documents = await countDocuments(client, name, signal);
  if (documents !== of.rows)
    throw new IndexError(`the new index has ${documents} documents for ${of.rows} rows`);
  const reader = createElasticsearchStore(client, CHECK)({ ...of, index: name });
  const { value: page = [] } = await readPages(sql, of.table, signal).next();
  await checkSearches(reader, page);
  await finishIndex(client, name, signal);
  // Before any search uses the index, because with one copy the death of its node would end every search.
  await untilCopied(client, name, { signal, progress });
  return name;
}

const SAMPLES = 12;
/** All samples are asked at once, and a cold index may be slow. */
const CHECK = { name: 'Elasticsearch', queueTimeoutMs: MINUTE, timeoutMs: MINUTE };

/** Searches for a sample of the page, because an index of an edited mapping file may have every name and find none. */
async function checkSearches({ byNif, byPrefix, byWords }: GenerationReader, page: DirectoryEntry[]) {
  const sample = page.filter((_, at) => at % Math.ceil(page.length / SAMPLES) === 0);
  const check = async ({ nif, normalized }: DirectoryEntry) => {
    const beginnings = [1, MAX_GRAM, Infinity].map((length) => [...normalized].slice(0, length).join(''));
    const words = normalized.split(' ').map((word) => [[word]]);
    const asked = [byWords(words, null, MAX_RESULTS), ...beginnings.map((text) => byPrefix(text, true))];
    // It may be behind as many others.
    for (const found of await Promise.all([byNif(nif), ...(normalized === '' ? [] : asked)]))
      if (found.length < MAX_RESULTS && found.every((entry) => entry.nif !== nif))
        throw new IndexError(`searches in the new index don't find NIF ${nif}`);
  };
  await Promise.all(sample.map(check));
}
