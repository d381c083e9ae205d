import { errors } from '@elastic/elasticsearch';
import type { Log } from '../../platform/observability/log.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { withTimeout } from '../../platform/runtime/timeout.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import type { DirectoryContext } from './context.ts';
import { type DirectoryHealth, ensureSearchable } from './startup-check.ts';

/** A server starts after this long even if its Elasticsearch doesn't answer. */
const FIRST_CHECK_TIMEOUT_MS = 5 * SECOND;
const CHECK_EVERY_MS = 15 * SECOND;
/** A warning that lasts is logged again. */
const WARN_AGAIN_AFTER_MS = 10 * MINUTE;

/**
 * Repairs the directory at start, and checks it again at intervals, so that an Elasticsearch that was away at start gets its
 * alias when it is back. Changes are logged, and a warning that lasts again.
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
