import type { Client } from '@elastic/elasticsearch';
import { SECOND } from '../../platform/units.ts';
import { mappingFingerprint } from '../search/document.ts';
import { type DirectoryContext, NEVER_ABORTED } from './context.ts';
import { type Directory, type Generation, readDirectory } from './generations.ts';
import { aliasTargets, foreignIndices, pointAlias } from './indexing/alias.ts';
import { untilCopied } from './indexing/copies.ts';
import { belongsToDirectory, createIndex, finishIndex, newIndexName } from './indexing/indices.ts';
import { assertHeld, type DirectoryLock } from './lock.ts';

export interface Reconciled extends Directory {
  /** The index that searches now go to, because the last change was not finished; `null` means that it was. */
  movedTo: string | null;
}

/**
 * Repairs what the last run has left, under the lock. If its process died before the alias pointed to the current generation's
 * complete index, the alias is moved. An empty directory gets an empty index, so that searches find nothing instead of
 * failing. An alias that leads to another directory's index stays as it is.
 *
 * @returns the directory as it is now
 * @throws the error of Elasticsearch when it can't be reached
 */
export async function reconcile(context: DirectoryContext, lock: DirectoryLock): Promise<Reconciled> {
  const directory = await readDirectory(lock.sql);
  const { elasticsearch: client } = context;
  const unmoved = { ...directory, movedTo: null };
  if (client === null) return unmoved;
  const alias = context.config.elasticsearchAlias;
  const { id, current } = directory;
  const { indexName: index } = current;
  const targets = await aliasTargets(client, alias);
  if ((await foreignIndices(client, targets, id)).length > 0) return unmoved;
  if (index !== null) {
    const isServed = targets.length === 1 && targets[0] === index;
    if (isServed || !(await belongsToDirectory(client, index, id))) return unmoved;
    await assertHeld(lock);
    await pointAlias(client, { alias, index, directoryId: id, takesOver: false });
    return { ...directory, movedTo: index };
  }
  if (current.rows > 0 || targets.length > 0) return unmoved;
  const empty = await serveEmptyIndex(client, alias, directory, lock);
  return { ...directory, current: { ...current, ...empty }, movedTo: null };
}

/** An empty index is copied at once, unless a node has no room. */
const EMPTY_COPY_TIMEOUT_MS = 10 * SECOND;

async function serveEmptyIndex(
  client: Client,
  alias: string,
  { id, current }: Directory,
  lock: DirectoryLock,
): Promise<Pick<Generation, 'indexName' | 'indexFingerprint'>> {
  const name = newIndexName(alias);
  const fingerprint = mappingFingerprint();
  await createIndex(client, name, { directory: id, generation: current.id, fingerprint });
  await finishIndex(client, name, NEVER_ABORTED);
  await untilCopied(client, name, { signal: NEVER_ABORTED }, EMPTY_COPY_TIMEOUT_MS);
  await lock.sql`
    UPDATE directory_generations SET index_name = ${name}, index_fingerprint = ${fingerprint} WHERE id = ${current.id}`;
  await pointAlias(client, { alias, index: name, directoryId: id, takesOver: false });
  return { indexName: name, indexFingerprint: fingerprint };
}
