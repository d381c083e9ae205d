import type { ReadLeft } from '../../metering/credits/left.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import { createSources } from '../sources/create-sources.ts';
import { LIMIT_WINDOWS, type LimitWindow } from '../sources/nif-pt.ts';
import { SOURCE_OUTCOMES } from '../sources/source-types.ts';
import { createFindRefusal, createLookup, type FindRefusal, type Lookup } from './lookup.ts';
import { createCompanyReader, type FindCompanies, type FindCompany } from './lookup-store.ts';
import { createRefresher } from './refresh.ts';
import { createRefreshBounds, REFRESH_BOUNDS, type RefreshBound } from './refresh-bounds.ts';

/** The reader of stored records, and the lookup with its sources, as the configuration names them. */
export function openLookup(
  config: Config,
  { sql, pointQueries, readLeft }: { sql: Sql; pointQueries: Sql; readLeft: ReadLeft },
  cleanup: Cleanup,
  log: Log,
  metrics: Metrics,
): { findCompany: FindCompany; findCompanies: FindCompanies; lookUp: Lookup; findRefusal: FindRefusal } {
  const sources = createSources(config, {
    onLimit: (source, window) => {
      counts.onLimit(source, window);
      log.warn({ source, window }, 'a source has reached its limit');
    },
  });
  for (const source of sources) cleanup.add(source.name, () => source.close());
  if (!sources.some(({ name }) => name === 'nif.pt')) log.warn('NIF_PT_KEY is not set: nif.pt is not asked');
  // The whole lookup answers within 2 × PROVIDER_TIMEOUT_MS + 1 s (docs/api.md: refresh); the rest is for the way out.
  const timeoutMs = 2 * config.providerTimeoutMs + 0.9 * SECOND;
  const { findCompany, findCompanies } = createCompanyReader(pointQueries, config.recordMaxAgeS, timeoutMs);
  const bounds = createRefreshBounds(sql, config.refreshesPerDay, log);
  const counts = createLookupMetrics(
    metrics,
    sources.map(({ name }) => name),
  );
  metrics.gaugeOf(
    'refreshes_today',
    'Refreshes of all accounts on this day (UTC), as this process last took one.',
    bounds.today,
  );
  const { refreshesPerDay } = config;
  if (refreshesPerDay !== null)
    metrics.gaugeOf('refreshes_per_day', 'REFRESHES_PER_DAY.', () => refreshesPerDay);
  const refresher = createRefresher({
    ...config,
    sql,
    findCompany,
    sources,
    bounds,
    log,
    onAnswer: counts.onAnswer,
  });
  const sweeps = startInterval(refresher.sweep, MINUTE, (error) =>
    log.warn({ err: error }, 'old refreshes were not removed'),
  );
  cleanup.add('the sweep of old refreshes', sweeps.stop);
  const { onUsedUp } = counts;
  const lookUp = createLookup({ refresher, timeoutMs, onUsedUp });
  const findRefusal = createFindRefusal({ bounds, refresher, readLeft, onUsedUp });
  return { findCompany, findCompanies, lookUp, findRefusal };
}

/** Declares the metrics of sources and refreshes, and returns what counts them. @param sources the names of those that are asked */
function createLookupMetrics(metrics: Metrics, sources: string[]) {
  const requests = metrics.counter(
    'source_requests_total',
    'Questions to company data sources, by source and outcome.',
    'source',
    'outcome',
  );
  for (const source of sources) for (const outcome of SOURCE_OUTCOMES) requests.inc({ source, outcome }, 0);
  const limits = metrics.counter(
    'source_limits_total',
    'Answers of company data sources that their limit is reached, by source and the window of the limit.',
    'source',
    'window',
  );
  for (const window of LIMIT_WINDOWS) limits.inc({ source: 'nif.pt', window }, 0);
  const refused = metrics.counter(
    'refreshes_refused_total',
    'Lookups that were refused because the refreshes of their account, or of all accounts, were used up, by bound.',
    'bound',
  );
  for (const bound of REFRESH_BOUNDS) refused.inc({ bound }, 0);
  return {
    onAnswer: (source: string, outcome: string) => requests.inc({ source, outcome }),
    onLimit: (source: string, window: LimitWindow) => limits.inc({ source, window }),
    onUsedUp: (bound: RefreshBound) => refused.inc({ bound }),
  };
}
