import type { Client } from '@elastic/elasticsearch';
import { RefusedError } from '../../platform/errors.ts';
import { SECOND } from '../../platform/units.ts';
import { mappingFingerprint } from '../search/document.ts';
import { readIndexMeta } from '../search/index-meta.ts';
import { type DirectoryContext, NEVER_ABORTED } from './context.ts';
import { collectGarbageNow } from './garbage.ts';
import { type Directory, isStale, readDirectory } from './generations.ts';
import { countDocuments } from './indexing/indices.ts';
import { type DirectoryLock, TIDYING, withDirectoryLock } from './lock.ts';
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
 * a directory that was loaded in full mode). In both modes it removes what a dead run has left.
 *
 * Never throws, because a server also starts while Elasticsearch is away.
 */
export async function ensureSearchable(
  context: Omit<DirectoryContext, 'signal' | 'actor'> & { signal?: AbortSignal },
): Promise<DirectoryHealth> {
  const all = { signal: NEVER_ABORTED, ...context, actor: 'server' };
  try {
    let health = await directoryHealth(all);
    if (!health.ok && all.elasticsearch === null) {
      await buildMissingIndexes(all);
      health = await directoryHealth(all);
    }
    // A failure is no warning, because leftovers do no harm, and the next check retries.
    await collectGarbageNow(all).catch(() => {});
    return health;
  } catch (error) {
    return { ok: false, warnings: ['the directory could not be checked'], error };
  }
}

async function buildMissingIndexes(context: DirectoryContext): Promise<void> {
  const work = async ({ sql }: DirectoryLock) => {
    const { current } = await readDirectory(sql);
    if (!(await hasSearchIndexes(sql, current.tableName))) await buildSearchIndexes(sql, current.tableName);
  };
  await withDirectoryLock(context, TIDYING, work, { patienceMs: EMBEDDED_PATIENCE_MS }).catch((error) => {
    // A running import or rebuild has made another table by its end.
    if (!(error instanceof RefusedError)) throw error;
  });
}

/**
 * Compares Postgres's directory with the index that searches use, by a few short requests.
 * @throws the error of Postgres or Elasticsearch when they are away
 */
export async function directoryHealth({ sql, elasticsearch }: DirectoryContext): Promise<DirectoryHealth> {
  const directory = await readDirectory(sql);
  const { current } = directory;
  const warnings: string[] = [];
  if (isStale(current)) warnings.push('the directory was normalized by another version: run "index rebuild"');
  if (elasticsearch !== null) {
    const warning = await indexWarning(directory, elasticsearch);
    if (warning !== null) warnings.push(warning);
  } else if (!(await hasSearchIndexes(sql, current.tableName))) {
    warnings.push(
      'the directory has no indexes for searches in Postgres yet: restart, or run "index rebuild"',
    );
  }
  return { ok: warnings.length === 0, warnings };
}

async function indexWarning(
  { id, current: { rows, indexName } }: Directory,
  client: Client,
): Promise<string | null> {
  // Nobody asks the index of an empty directory.
  if (rows === 0) return null;
  const meta = indexName === null ? null : await readIndexMeta(client, indexName);
  if (meta?.directory !== id) return 'there is no search index: run "index rebuild"';
  if (meta.fingerprint !== mappingFingerprint())
    return 'the search index was built by another version: run "index rebuild"';
  const documents = await countDocuments(client, indexName!, NEVER_ABORTED);
  return documents === rows
    ? null
    : `the search index has ${documents} entries, the directory ${rows}: run "index rebuild"`;
}
