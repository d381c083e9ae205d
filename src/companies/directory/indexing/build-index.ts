import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../../platform/postgres/connect.ts';
import type { Progress } from '../../../platform/terminal/progress.ts';
import type { CurrentGeneration } from '../../search/current.ts';
import { mappingFingerprint } from '../../search/document.ts';
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
import { loadTable } from './load.ts';

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
  await finishIndex(client, name, signal);
  // Before any search uses the index, because with one copy the death of its node would end every search.
  await untilCopied(client, name, { signal, progress });
  return name;
}
