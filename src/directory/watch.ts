import type { Closers } from '../closers.ts';
import { within } from '../deadline.ts';
import type { Log } from '../observability/log.ts';
import { repeat } from '../periodic.ts';
import { SECOND } from '../units.ts';
import { type DirectoryHealth, ensureSearchable } from './ensure.ts';
import type { DirectoryTools } from './tools.ts';

/** A server starts after this long even when its Elasticsearch doesn't answer. */
const FIRST_CHECK_TIMEOUT_MS = 5 * SECOND;
const CHECK_EVERY_MS = 15 * SECOND;

/**
 * Makes the directory searchable at start where something is missing, and looks again now and then: an Elasticsearch that
 * was away at start gets its alias when it is back. Changes are logged.
 *
 * @returns what the last look found
 */
export async function watchDirectory(
  tools: Pick<DirectoryTools, 'config' | 'sql' | 'elasticsearch'>,
  log: Log,
  closers: Closers,
): Promise<() => DirectoryHealth> {
  let health: DirectoryHealth = { ok: true, warnings: [] };

  async function look(): Promise<void> {
    const before = health.warnings.join();
    health = await ensureSearchable(tools);
    if (health.warnings.join() === before) return;
    if (health.ok) log.info('the directory is in order');
    else {
      const err = health.error === undefined ? {} : { err: health.error };
      log.warn({ warnings: health.warnings, ...err }, 'the directory needs attention');
    }
  }

  const looks = repeat(look, CHECK_EVERY_MS);
  closers.add('the watch of the directory', looks.stop);
  const first = looks.run();
  if (tools.elasticsearch === null) await first;
  else await within(first, FIRST_CHECK_TIMEOUT_MS, 'Elasticsearch').catch(() => {});
  return () => health;
}
