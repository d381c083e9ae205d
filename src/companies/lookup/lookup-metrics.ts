import type { Metrics } from '../../platform/observability/metrics.ts';
import type { LimitWindow } from '../sources/nif-pt.ts';
import { SOURCE_OUTCOMES } from '../sources/types.ts';
import type { Budget } from './budget.ts';

const WINDOWS: LimitWindow[] = ['minute', 'hour', 'day', 'month'];
const BUDGETS: Budget[] = ['account-day', 'account-minute', 'all-day', 'free-day'];

interface Observed {
  /** The names of the sources that are asked. */
  sources: string[];
  /** Refreshes of all accounts on this day. */
  refreshesToday: () => number;
  /** Their bound, if there is one. */
  refreshesPerDay: number | null;
}

/** Declares the metrics of sources and refreshes, and returns what counts them. */
export function createLookupMetrics(metrics: Metrics, observed: Observed) {
  const requests = metrics.counter(
    'source_requests_total',
    'Questions to company data sources, by source and outcome.',
    'source',
    'outcome',
  );
  for (const source of observed.sources)
    for (const outcome of SOURCE_OUTCOMES) requests.inc({ source, outcome }, 0);
  const limits = metrics.counter(
    'source_limits_total',
    'Answers of company data sources that their limit is reached, by source and the window of the limit.',
    'source',
    'window',
  );
  for (const window of WINDOWS) limits.inc({ source: 'nif.pt', window }, 0);
  const refused = metrics.counter(
    'refreshes_refused_total',
    'Lookups that were refused because the refreshes of their account, or of all accounts, were used up, by budget.',
    'budget',
  );
  for (const budget of BUDGETS) refused.inc({ budget }, 0);
  metrics.gaugeOf(
    'refreshes_today',
    'Refreshes of all accounts on this day (UTC), as this process last took one.',
    observed.refreshesToday,
  );
  const { refreshesPerDay } = observed;
  if (refreshesPerDay !== null)
    metrics.gaugeOf('refreshes_per_day', 'REFRESHES_PER_DAY.', () => refreshesPerDay);
  return {
    onAnswer: (source: string, outcome: string) => requests.inc({ source, outcome }),
    onLimit: (source: string, window: LimitWindow) => limits.inc({ source, window }),
    onOverBudget: (budget: Budget) => refused.inc({ budget }),
  };
}
