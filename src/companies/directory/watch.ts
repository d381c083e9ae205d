import { errors } from '@elastic/elasticsearch';
import { RefusedError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { withTimeout } from '../../platform/runtime/timeout.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import { mappingFingerprint } from '../search/document.ts';
import { type DirectoryContext, NEVER_ABORTED } from './directory-context.ts';
import { isStale, readDirectory } from './generations.ts';
import { readIndex } from './index-status.ts';
import { type DirectoryLock, TIDYING, withDirectoryLock } from './lock.ts';
import { buildSearchIndexes, hasSearchIndexes } from './tables.ts';
import { tidyNow } from './tidy.ts';

/** Whether searches see what Postgres's directory holds. */
export interface DirectoryHealth {
  /** One line for the operator: what is wrong and, if a command helps, which. It has no address. `null` if nothing is wrong. */
  warning: string | null;
  /** The reason why the check failed, for the log alone, because it may name an address. */
  error?: unknown;
}

/** In embedded mode a server waits this long for a running import; then it starts with slow searches and a warning. */
const EMBEDDED_PATIENCE_MS = 30 * SECOND;

/**
 * Prepares the directory before a server answers, and reports its health. In embedded mode it builds missing search indexes (of
 * a directory that was loaded in full mode). In both modes it tidies up.
 *
 * Never throws, because a server also starts while Elasticsearch is away.
 */
export async function ensureSearchable(
  context: Omit<DirectoryContext, 'signal' | 'actor'> & { signal?: AbortSignal },
): Promise<DirectoryHealth> {
  const all = { signal: NEVER_ABORTED, ...context, actor: 'server' };
  try {
    let warning = await warningOf(all);
    if (warning !== null && all.elasticsearch === null) {
      await buildMissingIndexes(all);
      warning = await warningOf(all);
    }
    // A failure is no warning, because leftovers do no harm, and the next check retries.
    await tidyNow(all).catch(() => {});
    return { warning };
  } catch (error) {
    return { warning: 'the directory could not be checked', error };
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
export async function warningOf({ sql, elasticsearch }: DirectoryContext): Promise<string | null> {
  const directory = await readDirectory(sql);
  const { rows, tableName } = directory.current;
  const rebuild = (what: string) => `${what}: run "index rebuild"`;
  if (isStale(directory.current)) return rebuild('the directory was normalized by another version');
  if (elasticsearch === null) {
    const isIndexed = await hasSearchIndexes(sql, tableName);
    return isIndexed ? null : rebuild('the directory has no indexes for searches in Postgres yet');
  }
  // Nobody asks the index of an empty directory.
  if (rows === 0) return null;
  const index = await readIndex(elasticsearch, directory, NEVER_ABORTED);
  if (index === null) return rebuild('there is no search index');
  if (index.fingerprint !== mappingFingerprint())
    return rebuild('the search index was built by another version');
  if (index.documents === rows) return null;
  return rebuild(`the search index has ${index.documents} entries, the directory ${rows}`);
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
  let health: DirectoryHealth = { warning: null };
  let warnedAtMs = 0;

  async function check(): Promise<void> {
    const before = health.warning;
    health = await ensureSearchable(context);
    const { warning, error } = health;
    const isDue = warning !== null && performance.now() - warnedAtMs >= WARN_AGAIN_AFTER_MS;
    if (warning === before && !isDue) return;
    if (warning === null) log.info('the directory is in order');
    else {
      warnedAtMs = performance.now();
      const advice = error instanceof errors.ElasticsearchClientError ? ': check ELASTICSEARCH_URL' : '';
      const err = error === undefined ? {} : { err: error };
      log.warn({ warning, ...err }, `the directory needs attention${advice}`);
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
