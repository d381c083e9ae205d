import type { Handler } from '../../metering/admission/plan.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { startChangePurge } from './changes/purge.ts';
import { createDebtChangesHandler } from './changes/route.ts';
import { createDebtsHandler } from './screen/route.ts';
import { createScreen } from './screen/store.ts';

/**
 * The handlers of the two endpoints about debts, and the removal of old changes.
 * @param service.stopping aborted when the service stops
 */
export function openDebts(
  { sql, pointQueries }: { sql: Sql; pointQueries: Sql },
  tasks: Cleanup,
  log: Log,
  service: { publicUrl: string; stopping: AbortSignal },
): { debts: Handler; debtChanges: Handler } {
  startChangePurge(sql, log, tasks);
  return {
    debts: createDebtsHandler(createScreen(pointQueries), service),
    debtChanges: createDebtChangesHandler(sql, service.stopping),
  };
}
