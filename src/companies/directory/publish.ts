import type { Progress } from '../../platform/terminal/progress.ts';
import type { DirectoryContext } from './context.ts';
import { failAfterChange } from './failures.ts';
import { type Directory, makeCurrent, type NewGeneration } from './generations.ts';
import type { BuiltIndex } from './indexing/build-index.ts';
import { pointAlias } from './indexing/indices.ts';
import type { DirectoryLock } from './lock.ts';

/**
 * Makes a complete generation current and points searches to it. An interruption has no effect once it is current.
 *
 * @param index the complete and checked index of its rows; `null` in embedded mode
 * @param change the name of the whole change, for an operator
 * @returns the index that searches use, or the table in embedded mode
 * @throws RefusedError when Elasticsearch failed after Postgres has changed
 */
export async function publish(
  { elasticsearch: client, config, signal, actor }: DirectoryContext,
  lock: DirectoryLock,
  directory: Directory,
  next: NewGeneration,
  index: BuiltIndex | null,
  { change, progress }: { change: 'import' | 'rebuild'; progress: Pick<Progress, 'note'> },
): Promise<string> {
  signal.throwIfAborted();
  await makeCurrent(lock, directory, next, index, actor);
  if (client !== null && index !== null) {
    await failAfterChange(change, () => pointAlias(client, config.elasticsearchAlias, index.name));
  }
  progress.note(change === 'import' ? 'searches see the new directory' : 'searches go to the new index');
  return index?.name ?? next.tableName;
}
