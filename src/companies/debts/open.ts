import { startPurge } from '../../http/feed.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { purgeChanges } from './changes/purge.ts';
import { type ReadPage, readPage } from './changes/store.ts';
import { createScreen, type Screen } from './screen/store.ts';

/** The readers of debts and of their changes in Postgres, and the removal of old changes. */
export function openDebts(
  { sql, pointQueries }: { sql: Sql; pointQueries: Sql },
  tasks: Cleanup,
  log: Log,
): { screen: Screen; readPage: ReadPage } {
  startPurge('old changes of debts', () => purgeChanges(sql), log, tasks);
  return { screen: createScreen(pointQueries), readPage: (options) => readPage(pointQueries, options) };
}
