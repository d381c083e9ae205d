import { RefusedError } from '../../platform/errors.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import type { DirectoryContext } from './directory-context.ts';
import { type Directory, makePreviousCurrent, nextGeneration } from './generations.ts';
import { changedStatus, type IndexStatus } from './index-status.ts';
import { openIndexStore } from './index-store.ts';
import type { DirectoryLock } from './lock.ts';
import { publish } from './publish.ts';
import { allOf, fillTable, renormalize } from './tables.ts';
import { changeDirectory } from './tidy.ts';

/**
 * Builds a new table and its index from the legal names of Postgres's directory, by the present mapping and normalization. Searches
 * use them when they are complete and checked. The generation that a rollback returns to stays the same.
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
 * Rebuilds the current generation, under the lock.
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
  const next = { ...(await nextGeneration(sql)), rows: current.rows };
  const rows = await renormalize(sql, current, { signal: context.signal, progress });
  await fillTable(sql, next.table, allOf(rows));
  return publish(context, lock, directory, next, null, progress);
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
    const store = openIndexStore(context);
    let { index } = previous;
    if (!(await store.isReady(id, previous))) {
      progress.note('the directory before the import has no index that answers: it is built from Postgres');
      index = (await store.build(lock, id, previous, progress)) ?? index;
    }
    context.signal.throwIfAborted();
    await makePreviousCurrent(lock, { ...previous, index });
    return changedStatus(context);
  });
}
