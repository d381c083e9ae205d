import type { Progress } from '../../platform/terminal/progress.ts';
import type { DirectoryContext } from './context.ts';
import { failAfterChange } from './failures.ts';
import { type Directory, makeCurrent, type NewGeneration } from './generations.ts';
import { pointAlias } from './indexing/alias.ts';
import type { BuiltIndex } from './indexing/build-index.ts';
import type { DirectoryLock } from './lock.ts';

/**
 * Makes a complete generation current and points searches to it. An interruption has no effect once it is current. A rebuild also
 * takes the alias from another directory, because a restored database needs that; an import does not.
 *
 * @param index the complete and checked index of its rows; `null` in embedded mode
 * @param change the name of the whole change, for an operator
 * @returns the index that searches use, or the table in embedded mode
 * @throws RefusedError when Elasticsearch failed, or another directory took the alias, after Postgres has changed
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
    const alias = config.elasticsearchAlias;
    const move = { alias, index: index.name, directoryId: directory.id, takesOver: change === 'rebuild' };
    for (const left of await failAfterChange(change, () => pointAlias(client, move)))
      progress.note(`the alias ${alias} is taken from ${left}, an index of another database, which stays`);
  }
  progress.note(change === 'import' ? 'searches see the new directory' : 'searches go to the new index');
  return index?.name ?? next.tableName;
}
