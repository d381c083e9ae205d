import type { Config } from '../../platform/config/config.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import { createSources } from '../sources/create-sources.ts';
import { isDefaultNifPtUrl } from '../sources/nif-pt.ts';
import { createRefreshBudget } from './budget.ts';
import { createLookup, type Lookup } from './lookup.ts';
import { createLookupMetrics } from './lookup-metrics.ts';
import { createRefresher } from './refresh.ts';
import { createCompanyReader, type FindCompanies, type FindCompany } from './store.ts';

/** The reader of stored records, and the lookup with its sources, as the configuration names them. */
export function openLookup(
  config: Config,
  { sql, pointQueries }: { sql: Sql; pointQueries: Sql },
  cleanup: Cleanup,
  log: Log,
  metrics: Metrics,
): { findCompany: FindCompany; findCompanies: FindCompanies; lookUp: Lookup } {
  const sources = createSources(config, {
    onLimit: (source, window) => {
      counts.onLimit(source, window);
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
  const counts = createLookupMetrics(metrics, {
    sources: sources.map(({ name }) => name),
    refreshesToday: budget.today,
    refreshesPerDay: config.refreshesPerDay,
  });
  const refresher = createRefresher({
    ...config,
    sql,
    findCompany,
    sources,
    budget,
    log,
    onAnswer: counts.onAnswer,
  });
  const sweeps = startInterval(refresher.sweep, MINUTE, (error) =>
    log.warn({ err: error }, 'old refreshes were not removed'),
  );
  cleanup.add('the sweep of old refreshes', sweeps.stop);
  const lookUp = createLookup({ refresher, timeoutMs, onOverBudget: counts.onOverBudget });
  return { findCompany, findCompanies, lookUp };
}
