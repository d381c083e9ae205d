import type { Progress } from '../../platform/terminal/progress.ts';
import type { DirectoryContext } from './directory-context.ts';
import { type Directory, makeCurrent, type NewGeneration } from './generations.ts';
import { buildIndex } from './indexing/build-index.ts';
import type { DirectoryLock } from './lock.ts';
import { buildSearchIndexes } from './tables.ts';

/**
 * Makes a generation's rows searchable: by a new index, or in embedded mode by indexes of its table (then the answer is `null`).
 * @throws the error of Elasticsearch
 */
export async function indexRows(
  context: DirectoryContext,
  { sql }: DirectoryLock,
  directoryId: string,
  of: Pick<NewGeneration, 'id' | 'tableName' | 'rows'>,
  progress: Progress,
): Promise<string | null> {
  const { elasticsearch: client, config, signal } = context;
  signal.throwIfAborted();
  if (client !== null) {
    return buildIndex(client, context.sql, {
      prefix: config.elasticsearchPrefix,
      directoryId,
      of,
      signal,
      progress,
    });
  }
  progress.phase('indexing');
  await buildSearchIndexes(sql, of.tableName);
  return null;
}

/**
 * Makes a complete generation current. An interruption has no effect once it is.
 * @param index the complete and checked index of its rows; `null` in embedded mode
 * @returns the index that searches use then, or the table in embedded mode
 */
export async function publish(
  context: DirectoryContext,
  lock: DirectoryLock,
  directory: Directory,
  next: NewGeneration,
  index: string | null,
  progress: Pick<Progress, 'note'>,
): Promise<string> {
  context.signal.throwIfAborted();
  await makeCurrent(lock, directory, next, index, context.actor);
  progress.note(next.origin === 'import' ? 'searches see the new directory' : 'searches go to the new index');
  return index ?? next.tableName;
}
