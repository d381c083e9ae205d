import { RefusedError } from '../../platform/errors.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import { normalizationFingerprint } from '../name.ts';
import { belongsToDirectory } from '../search/index-meta.ts';
import type { DirectoryContext } from './directory-context.ts';
import {
  type Directory,
  type Generation,
  isStale,
  makePreviousCurrent,
  nextGeneration,
} from './generations.ts';
import { changedStatus, type IndexStatus } from './index-status.ts';
import { isSearchable } from './indexing/copies.ts';
import type { DirectoryLock } from './lock.ts';
import { indexRows, publish } from './publish.ts';
import { copyNormalized, copySorted, finishTable, hasSearchIndexes } from './tables.ts';
import { changeDirectory } from './tidy.ts';

/**
 * Builds a new index from Postgres's directory, by the present mapping and normalization. Searches use it when it is complete
 * and checked. The generation that a rollback returns to stays the same.
 *
 * @throws RefusedError when another process changes the directory, or Elasticsearch fails
 */
export function rebuildIndex(context: DirectoryContext, progress: Progress): Promise<IndexStatus> {
  return changeDirectory(context, 'index rebuild', progress, async (lock, directory) => {
    await replaceIndex(context, lock, directory, progress);
    return changedStatus(context);
  });
}

/**
 * Replaces the current generation, under the lock, by one with a new index (a new table in embedded mode).
 * @returns the index that searches use then, or the table in embedded mode
 */
export async function replaceIndex(
  context: DirectoryContext,
  lock: DirectoryLock,
  directory: Directory,
  progress: Progress,
): Promise<string> {
  const { sql } = lock;
  const { current } = directory;
  const { elasticsearch: client, signal } = context;
  const next = await nextGeneration(sql);
  const renormalizes = isStale(current);
  // In full mode the rows stay; only the index is new.
  const tableName = client === null || renormalizes ? next.tableName : current.tableName;
  if (renormalizes) {
    await copyNormalized(sql, current, tableName, { signal, progress });
  } else if (client === null) {
    progress.phase('copying the rows');
    await copySorted(sql, current.tableName, tableName);
  }
  if (tableName === next.tableName) await finishTable(sql, tableName);
  const generation = {
    id: next.id,
    tableName,
    rows: current.rows,
    normalization: current.rows === 0 ? null : normalizationFingerprint(),
    origin: 'rebuild' as const,
  };
  const index = await indexRows(context, lock, directory.id, generation, progress);
  return publish(context, lock, directory, generation, index, progress);
}

/**
 * Puts search and Postgres's directory back as they were before the last import. After that there is nothing to return to
 * until the next import. The undone generation is not kept, because its file can be imported again.
 *
 * @throws RefusedError when there is nothing to return to, another process changes the directory, or Elasticsearch fails
 */
export function rollbackIndex(context: DirectoryContext, progress: Progress): Promise<IndexStatus> {
  return changeDirectory(context, 'index rollback', progress, async (lock, { id, previous }) => {
    if (previous === null) {
      throw new RefusedError(
        'there is nothing to return to: no import since the last rollback, or none at all',
      );
    }
    const index = await searchableIndex(context, lock, id, previous, progress);
    context.signal.throwIfAborted();
    await makePreviousCurrent(lock, previous, index);
    return changedStatus(context);
  });
}

/** The index of an earlier generation, built again if it is lost; `null` in embedded mode. */
async function searchableIndex(
  context: DirectoryContext,
  lock: DirectoryLock,
  directoryId: string,
  previous: Generation,
  progress: Progress,
): Promise<string | null> {
  const { elasticsearch: client } = context;
  const { tableName, indexName } = previous;
  if (client === null) {
    // A directory that was loaded in full mode has no indexes for searches in Postgres.
    if (await hasSearchIndexes(lock.sql, tableName)) return null;
  } else if (indexName !== null && (await belongsToDirectory(client, indexName, directoryId))) {
    if (await isSearchable(client, indexName)) return indexName;
    progress.note(`the index ${indexName} is on no node that answers: it is rebuilt from Postgres`);
  }
  return indexRows(context, lock, directoryId, previous, progress);
}
