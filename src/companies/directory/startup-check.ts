import { errors } from '@elastic/elasticsearch';
import { RefusedError } from '../../platform/errors.ts';
import { SECOND } from '../../platform/units.ts';
import { mappingFingerprint } from '../search/document.ts';
import { type DirectoryContext, NEVER_ABORTED } from './context.ts';
import { collectGarbageNow } from './garbage.ts';
import { type Directory, isStale, readDirectory } from './generations.ts';
import { aliasTargets, foreignIndices } from './indexing/alias.ts';
import { countDocuments, readIndexMeta } from './indexing/indices.ts';
import { type DirectoryLock, TIDYING, withDirectoryLock } from './lock.ts';
import { reconcile } from './reconcile.ts';
import { buildSearchIndexes, hasSearchIndexes } from './tables.ts';

/** Whether searches see what Postgres's directory holds. */
export interface DirectoryHealth {
  ok: boolean;
  /** One line each, with what to do and without an address. Empty if all is well. */
  warnings: string[];
  /** The reason why the check failed, for the log alone, because it may name an address. */
  error?: unknown;
}

/** In embedded mode a server waits this long for a running import; then it starts with slow searches and a warning. */
const EMBEDDED_PATIENCE_MS = 30 * SECOND;

/**
 * Prepares the directory before a server answers, and reports its health. In embedded mode it builds missing search indexes (of
 * a directory that was loaded in full mode). In full mode it points the alias to the current generation's complete index, unless
 * the alias leads to another directory's. In both it removes what a dead run has left.
 *
 * Never throws, because a server also starts while Elasticsearch is away.
 */
export async function ensureSearchable(
  context: Omit<DirectoryContext, 'signal' | 'actor'> & { signal?: AbortSignal },
): Promise<DirectoryHealth> {
  const all = { signal: NEVER_ABORTED, ...context, actor: 'server' };
  try {
    let health = await directoryHealth(all);
    if (!health.ok) {
      await repair(all);
      health = await directoryHealth(all);
    }
    // A failure is no warning, because leftovers do no harm, and the next check retries.
    await collectGarbageNow(all).catch(() => {});
    return health;
  } catch (error) {
    return { ok: false, warnings: ['the directory could not be checked'], error };
  }
}

async function repair(context: DirectoryContext): Promise<void> {
  const isEmbedded = context.elasticsearch === null;
  const work = async (lock: DirectoryLock) => {
    const { current } = await reconcile(context, lock);
    if (isEmbedded && !(await hasSearchIndexes(lock.sql, current.tableName)))
      await buildSearchIndexes(lock.sql, current.tableName);
  };
  await withDirectoryLock(context, TIDYING, work, {
    patienceMs: isEmbedded ? EMBEDDED_PATIENCE_MS : 0,
  }).catch((error) => {
    // A running import or rebuild repairs the directory itself. The check after this one meets an error of Elasticsearch again.
    const isKnown = error instanceof RefusedError || error instanceof errors.ElasticsearchClientError;
    if (!isKnown) throw error;
  });
}

/**
 * Compares Postgres's directory with the index that searches use, by a few short requests.
 * @throws the error of Postgres or Elasticsearch when they are away
 */
export async function directoryHealth({
  sql,
  elasticsearch,
  config,
}: DirectoryContext): Promise<DirectoryHealth> {
  const directory = await readDirectory(sql);
  const { current } = directory;
  const warnings: string[] = [];
  if (isStale(current)) warnings.push('the directory was normalized by another version: run "index rebuild"');
  if (elasticsearch === null) {
    if (!(await hasSearchIndexes(sql, current.tableName))) {
      warnings.push(
        'the directory has no indexes for searches in Postgres yet: restart, or run "index rebuild"',
      );
    }
  } else {
    const targets = await aliasTargets(elasticsearch, config.elasticsearchAlias);
    const warning = await indexWarning(directory, targets, elasticsearch);
    if (warning !== null) warnings.push(warning);
  }
  return { ok: warnings.length === 0, warnings };
}

async function indexWarning(
  { id, current }: Directory,
  targets: string[],
  client: NonNullable<DirectoryContext['elasticsearch']>,
): Promise<string | null> {
  const [index] = targets;
  if (index === undefined) return 'there is no search index: run "index rebuild"';
  if ((await foreignIndices(client, targets, id)).length > 0) {
    return (
      'searches go to an index of another database: set another ELASTICSEARCH_ALIAS for a copy or a second service; after a' +
      ' restore run "index rebuild", which takes the alias'
    );
  }
  if (targets.length > 1) return 'the search alias points to several indices: run "index rebuild"';
  if (index !== current.indexName) return 'searches don\'t see all of the directory: run "index rebuild"';
  if ((await readIndexMeta(client, index))?.fingerprint !== mappingFingerprint()) {
    return 'the search index was built by another version: run "index rebuild"';
  }
  const documents = await countDocuments(client, index, NEVER_ABORTED);
  return documents === current.rows
    ? null
    : `the search index has ${documents} entries, the directory ${current.rows}: run "index rebuild"`;
}
