import { hashOfRows } from '../../platform/postgres/copy.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import type { CurrentGeneration } from '../search/current.ts';
import type { DirectoryContext } from './directory-context.ts';
import { type Directory, entriesOf, type LoadedFile, makeCurrent } from './generations.ts';
import { openIndexStore } from './index-store.ts';
import type { DirectoryLock } from './lock.ts';
import { finishTable } from './tables.ts';

/**
 * Completes a filled table, builds its index, and makes both the current generation. An interruption has no effect once that is done.
 * @param load the file of an import; `null` means a rebuild
 * @returns the index that searches use then, or the table in embedded mode
 * @throws the error of Elasticsearch
 */
export async function publish(
  context: DirectoryContext,
  lock: DirectoryLock,
  directory: Directory,
  next: Pick<CurrentGeneration, 'id' | 'table' | 'rows'>,
  load: LoadedFile | null,
  progress: Progress,
): Promise<string> {
  const { sql } = lock;
  context.signal.throwIfAborted();
  const store = openIndexStore(context);
  // In parallel with the indexing, which reads the table by its pages.
  const finishing = finishTable(sql, next.table);
  finishing.catch(() => {}); // awaited before the generation is made current
  const generation = { ...next, index: await store.build(lock, directory.id, next, progress) };
  await finishing;
  const loaded = load && { ...load, rowsSha256: await hashOfRows(sql, entriesOf(next.table)) };
  context.signal.throwIfAborted();
  await makeCurrent(lock, directory, generation, loaded, context.actor);
  progress.note(load === null ? 'searches go to the new index' : 'searches see the new directory');
  return store.nameOf(generation);
}
