import type { Progress } from '../../platform/terminal/progress.ts';
import type { DirectoryContext } from './context.ts';
import { type Directory, makeCurrent, type NewGeneration } from './generations.ts';
import { moveAliasForOldInstances } from './indexing/alias.ts';
import type { BuiltIndex } from './indexing/build-index.ts';
import type { DirectoryLock } from './lock.ts';

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
  index: BuiltIndex | null,
  progress: Pick<Progress, 'note'>,
): Promise<string> {
  context.signal.throwIfAborted();
  await makeCurrent(lock, directory, next, index, context.actor);
  progress.note(next.origin === 'import' ? 'searches see the new directory' : 'searches go to the new index');
  await followIndex(context, directory.id, index);
  return index?.name ?? next.tableName;
}

/** Lets instances of 0.1.0 follow a change. */
export async function followIndex(
  { elasticsearch: client, config }: DirectoryContext,
  directoryId: string,
  index: BuiltIndex | null,
): Promise<void> {
  if (client === null || index === null) return;
  await moveAliasForOldInstances(client, {
    alias: config.elasticsearchPrefix,
    index: index.name,
    directoryId,
  });
}
