import type { Client } from '@elastic/elasticsearch';
import { mappingFingerprint } from '../search/document.ts';
import type { Progress } from '../terminal/progress.ts';
import { checkIndex } from './check.ts';
import type { DirectoryContext } from './context.ts';
import { untilCopied } from './copies.ts';
import type { Generation } from './generations.ts';
import {
  cloneIndex,
  createIndex,
  finishIndex,
  isOurs,
  mergeIndex,
  newIndexName,
  refreshIndex,
} from './indices.ts';
import { type Changes, loadChanges, loadTable } from './load.ts';

/** A checked index of exactly the rows of a table. No alias points to it yet. */
export interface BuiltIndex {
  name: string;
  fingerprint: string;
}

/** Up to this share of the directory, changes go into a copy of the present index instead of a whole new one. */
const CLONE_UP_TO_SHARE = 0.1;

export interface BuildOptions {
  directoryId: string;
  /** The generation that the index is for. */
  generation: number;
  table: string;
  rows: number;
  progress: Progress;
  /** An index that differs from the table by these changes only. Without it all rows are indexed. */
  since?: { generation: Generation; changes: Changes };
}

/**
 * Builds the index of a table: loads it, merges it, refreshes it, checks it, and waits for its copies on other nodes.
 * @throws the error of Elasticsearch. An unfinished index stays behind; `_meta` identifies it
 */
export async function buildIndex(
  { config, sql, signal }: DirectoryContext,
  client: Client,
  options: BuildOptions,
): Promise<BuiltIndex> {
  const { progress, table, rows, since } = options;
  const name = newIndexName(config.elasticsearchAlias);
  const fingerprint = mappingFingerprint();
  const meta = { directory: options.directoryId, generation: options.generation, fingerprint };
  const onRows = (done: number, fraction: number) => progress.update(done, fraction);
  const source = since === undefined || !takesChanges(since, rows) ? null : since.generation.indexName;

  if (source !== null && (await isOurs(client, source, options.directoryId))) {
    progress.phase('copying the index');
    await cloneIndex(client, source, name, meta, signal);
    progress.phase('indexing changes');
    await loadChanges(client, since!.changes, name, { signal, onRows });
  } else {
    progress.phase('indexing');
    await createIndex(client, name, meta);
    await loadTable(client, sql, { table, rows }, name, { signal, onRows });
    // A copy with few changes is not merged, because that would write all of it again.
    progress.phase('merging the index');
    await mergeIndex(client, name, signal);
  }
  progress.phase('checking the index');
  await refreshIndex(client, name, signal);
  await checkIndex(client, sql, { index: name, table, rows, signal });
  await finishIndex(client, name, signal);
  // Before any search uses the index, because with one copy the death of its node would end every search.
  await untilCopied(client, name, { signal, progress });
  return { name, fingerprint };
}

/** Whether these changes go into a copy of the generation's index instead of a new index. */
export function takesChanges(
  { generation, changes }: { generation: Generation; changes: Pick<Changes, 'count'> },
  rows: number,
): boolean {
  const isCurrent = generation.indexName !== null && generation.indexFingerprint === mappingFingerprint();
  return isCurrent && changes.count <= rows * CLONE_UP_TO_SHARE;
}
