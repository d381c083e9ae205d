import { type Client, errors } from '@elastic/elasticsearch';
import { RefusedError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { withTimeout } from '../../platform/runtime/timeout.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import { mappingFingerprint } from '../search/document.ts';
import { type DirectoryContext, NEVER_ABORTED } from './context.ts';
import { type Directory, isStale, readDirectory } from './generations.ts';
import { type DirectoryLock, TIDYING, withDirectoryLock } from './lock.ts';
import { readIndex } from './status.ts';
import { buildSearchIndexes, hasSearchIndexes } from './tables.ts';
import { tidyNow } from './tidy.ts';

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
    await tidyNow(all).catch(() => {});
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

async function indexWarning(directory: Directory, client: Client): Promise<string | null> {
  const { rows } = directory.current;
  // Nobody asks the index of an empty directory.
  if (rows === 0) return null;
  const index = await readIndex(client, directory, NEVER_ABORTED);
  if (index === null) return 'there is no search index: run "index rebuild"';
  if (index.fingerprint !== mappingFingerprint())
    return 'the search index was built by another version: run "index rebuild"';
  return index.documents === rows
    ? null
    : `the search index has ${index.documents} entries, the directory ${rows}: run "index rebuild"`;
}

/** A server starts after this long even if its Elasticsearch doesn't answer. */
const FIRST_CHECK_TIMEOUT_MS = 5 * SECOND;
const CHECK_EVERY_MS = 15 * SECOND;
/** A warning that lasts is logged again. */
const WARN_AGAIN_AFTER_MS = 10 * MINUTE;

/**
 * Prepares the directory at start, and checks it again at intervals. Changes are logged, and a warning that lasts again.
 *
 * @returns the result of the last check
 */
export async function watchDirectory(
  context: Pick<DirectoryContext, 'config' | 'databaseUrl' | 'sql' | 'elasticsearch'>,
  log: Log,
  cleanup: Cleanup,
): Promise<() => DirectoryHealth> {
  let health: DirectoryHealth = { ok: true, warnings: [] };
  let warnedAtMs = 0;

  async function check(): Promise<void> {
    const before = health.warnings.join();
    health = await ensureSearchable(context);
    const isDue = !health.ok && performance.now() - warnedAtMs >= WARN_AGAIN_AFTER_MS;
    if (health.warnings.join() === before && !isDue) return;
    if (health.ok) log.info('the directory is in order');
    else {
      warnedAtMs = performance.now();
      const { warnings, error } = health;
      const advice = error instanceof errors.ElasticsearchClientError ? ': check ELASTICSEARCH_URL' : '';
      const err = error === undefined ? {} : { err: error };
      log.warn({ warnings, ...err }, `the directory needs attention${advice}`);
    }
  }

  const checks = startInterval(check, CHECK_EVERY_MS);
  cleanup.add('the watch of the directory', checks.stop);
  const first = checks.run();
  if (context.elasticsearch === null) await first;
  else {
    // The check never fails, and continues; its outcome is logged.
    await withTimeout(first, FIRST_CHECK_TIMEOUT_MS, 'Elasticsearch').catch((error) =>
      log.warn({ err: error }, 'started before the directory was checked: check ELASTICSEARCH_URL'),
    );
  }
  return () => health;
}
