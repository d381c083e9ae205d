import { errors } from '@elastic/elasticsearch';
import type { Log } from '../../platform/observability/log.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { withTimeout } from '../../platform/runtime/timeout.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import { type DirectoryContext, NEVER_ABORTED } from './directory-context.ts';
import { isStale, readDirectory } from './generations.ts';
import { openIndexStore } from './index-store.ts';
import { tidyNow } from './tidy.ts';

/** Whether searches see what Postgres's directory holds. */
export interface DirectoryHealth {
  /** One line for the operator: what is wrong and, if a command helps, which. It has no address. `null` if nothing is wrong. */
  warning: string | null;
  /** The reason why the check failed, for the log alone, because it may name an address. */
  error?: unknown;
}

/** The resources of a server for its directory. */
type ServerContext = Omit<DirectoryContext, 'signal' | 'actor'>;

/**
 * Compares Postgres's directory with the index that searches use, by a few short requests, and tidies up. Never throws, because a
 * server also starts while Elasticsearch is away.
 */
export async function checkDirectory(server: ServerContext): Promise<DirectoryHealth> {
  const context = { ...server, signal: NEVER_ABORTED, actor: 'server' };
  try {
    const fault = await faultOf(context);
    // A failure is no warning, because leftovers do no harm, and the next check retries.
    await tidyNow(context).catch(() => {});
    return { warning: fault && `${fault}: run "index rebuild"` };
  } catch (error) {
    return { warning: 'the directory could not be checked', error };
  }
}

async function faultOf(context: DirectoryContext): Promise<string | null> {
  const directory = await readDirectory(context.sql);
  if (isStale(directory.current)) return 'the directory was normalized by another version';
  // Nobody asks the index of an empty directory.
  if (directory.current.rows === 0) return null;
  return (await openIndexStore(context).check(directory)).fault;
}

/** A server starts after this long even if its Elasticsearch doesn't answer. */
const FIRST_CHECK_TIMEOUT_MS = 5 * SECOND;
const CHECK_EVERY_MS = 15 * SECOND;
/** A warning that lasts is logged again. */
const WARN_AGAIN_AFTER_MS = 10 * MINUTE;

/**
 * Checks the directory at start and again at intervals. Changes are logged, and a warning that lasts again.
 *
 * @returns the result of the last check
 */
export async function watchDirectory(
  context: ServerContext,
  log: Log,
  cleanup: Cleanup,
): Promise<() => DirectoryHealth> {
  let health: DirectoryHealth = { warning: null };
  let warnedAtMs = 0;

  async function check(): Promise<void> {
    const before = health.warning;
    health = await checkDirectory(context);
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
  // The check never fails, and continues; its outcome is logged.
  await withTimeout(checks.run(), FIRST_CHECK_TIMEOUT_MS, 'the directory').catch((error) =>
    log.warn({ err: error }, 'started before the directory was checked'),
  );
  return () => health;
}
