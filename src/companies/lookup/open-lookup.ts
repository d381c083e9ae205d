import type { Handler } from '../../metering/admission/plan.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import { createSources } from '../sources/create-sources.ts';
import { isDefaultNifPtUrl } from '../sources/nif-pt.ts';
import { createBatchLookupHandler } from './batch.ts';
import { createRefreshBudget } from './budget.ts';
import { createLookup } from './lookup.ts';
import { createRefresher } from './refresh.ts';
import { createLookupHandler } from './route.ts';
import { createCompanyReader } from './store.ts';

/**
 * The handlers of the single and the batch lookup with their sources, as the configuration names them.
 * @param service.stopping aborted when the service stops
 */
export function openLookup(
  config: Config,
  { sql, pointQueries }: { sql: Sql; pointQueries: Sql },
  cleanup: Cleanup,
  log: Log,
  metrics: Metrics,
  service: { publicUrl: string; stopping: AbortSignal },
): { lookup: Handler; batchLookup: Handler } {
  const sources = createSources(config, {
    onLimit: (source, window) => {
      metrics.sourceLimit(source, window);
      log.warn({ source, window }, 'a source has reached its limit');
    },
  });
  for (const source of sources) cleanup.add(source.name, () => source.close());
  if (config.nifPtKey === null && isDefaultNifPtUrl(config.nifPtUrl)) {
    log.warn('NIF_PT_KEY is not set: nif.pt is not asked');
  }
  // The whole lookup answers within 2 × PROVIDER_TIMEOUT_MS + 1 s (contract: refresh); the rest is for the way out.
  const timeoutMs = 2 * config.providerTimeoutMs + 0.9 * SECOND;
  const { findCompany, findCompanies } = createCompanyReader(pointQueries, config.recordMaxAgeS, timeoutMs);
  const budget = createRefreshBudget(sql, config.refreshesPerDay, log);
  metrics.observeRefreshes(budget.today, config.refreshesPerDay);
  const refresher = createRefresher({
    ...config,
    sql,
    findCompany,
    sources,
    budget,
    log,
    onAnswer: metrics.source,
  });
  const sweeps = startInterval(refresher.sweep, MINUTE, (error) =>
    log.warn({ err: error }, 'old refreshes were not removed'),
  );
  cleanup.add('the sweep of old refreshes', sweeps.stop);
  const lookUp = createLookup({ refresher, timeoutMs, onOverBudget: metrics.refreshRefused });
  return {
    lookup: createLookupHandler(findCompany, lookUp),
    batchLookup: createBatchLookupHandler({ ...service, findCompanies, lookUp }),
  };
}
