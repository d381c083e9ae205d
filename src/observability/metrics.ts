import { Counter, Gauge, Registry } from 'prom-client';
import { type BatchTotals, batchTotals } from '../runtime/batch-totals.ts';
import { SECOND } from '../units.ts';
import { createRequestCounts } from './request-counts.ts';

/** The metrics at `/metrics`. Labels come from fixed lists, so that their number stays small. */
export interface Metrics {
  request(route: string, status: number, durationMs: number): void;
  /** One question to a company data source. */
  source(source: string, outcome: string): void;
  /** A source answered that its limit is reached. @param window the limit's period, `minute` to `month` */
  sourceLimit(source: string, window: string): void;
  /** A lookup that failed because its account had used up its refreshes of the day. */
  refreshRefused(): void;
  /** Whether rate limits are kept by this process alone because Redis is away. */
  redisAway(away: boolean): void;
  /** A request that a bucket of this process admitted or refused, because Redis was away or late. */
  localDecision(): void;
  /** A batch of credits without an answer was voided, so its calls, answered 503, cost nothing. */
  batchVoided(): void;
  /** Credits that may have been spent for requests answered 503, because no void was acknowledged before the stop. */
  refundFailed(credits: number): void;
  /** Registers the figures of the search cache. */
  observeSearchCache(cache: { hits: number; misses: number; bytes: number }): void;
  text(): Promise<string>;
  readonly contentType: string;
}

export function createMetrics(runningRequests: () => number): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const request = createRequestCounts(registry);
  new Gauge({
    name: 'http_requests_running',
    help: 'Requests being answered now.',
    registers,
    collect() {
      this.set(runningRequests());
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory that the process occupies.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  countBatches(registers);
  const sources = new Counter({
    name: 'source_requests_total',
    help: 'Questions to company data sources, by source and outcome.',
    labelNames: ['source', 'outcome'],
    registers,
  });
  const sourceLimits = new Counter({
    name: 'source_limits_total',
    help: 'Answers of company data sources that their limit is reached, by source and the window of the limit.',
    labelNames: ['source', 'window'],
    registers,
  });
  // Prometheus sees no increase in a series that begins at 1.
  for (const window of ['minute', 'hour', 'day', 'month']) sourceLimits.inc({ source: 'nif.pt', window }, 0);
  const refreshesRefused = new Counter({
    name: 'refreshes_refused_total',
    help: 'Lookups that failed because their account had used up its refreshes of the day.',
    registers,
  });
  const redisAway = new Gauge({
    name: 'rate_limit_local',
    help: '1 while rate limits are kept by this process alone because Redis is away.',
    registers,
  });
  const localDecisions = new Counter({
    name: 'rate_limit_local_decisions_total',
    help: 'Requests admitted or refused by a bucket of this process alone, because Redis was away or late.',
    registers,
  });
  const refundsFailed = new Counter({
    name: 'credit_refunds_failed_total',
    help: 'Credits that were spent, or may have been, for requests answered 503, and could not be given back.',
    registers,
  });
  const batchesVoided = new Counter({
    name: 'credit_batches_voided_total',
    help: 'Batches of credits that Postgres did not answer, voided so that their requests cost nothing.',
    registers,
  });
  return {
    request,
    source: (source, outcome) => sources.inc({ source, outcome }),
    sourceLimit: (source, window) => sourceLimits.inc({ source, window }),
    refreshRefused: () => refreshesRefused.inc(),
    redisAway: (away) => redisAway.set(away ? 1 : 0),
    localDecision: () => localDecisions.inc(),
    batchVoided: () => batchesVoided.inc(),
    refundFailed: (credits) => refundsFailed.inc(credits),
    observeSearchCache(cache) {
      new Counter({
        name: 'search_cache_answers_total',
        help: 'Searches for names, by whether the cache of answers had them.',
        labelNames: ['outcome'],
        registers,
        collect() {
          this.reset();
          this.inc({ outcome: 'hit' }, cache.hits);
          this.inc({ outcome: 'miss' }, cache.misses);
        },
      });
      new Gauge({
        name: 'search_cache_bytes',
        help: 'Estimated memory of the cache of search answers.',
        registers,
        collect() {
          this.set(cache.bytes);
        },
      });
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** How well batches work: items a batch, time in flight, and time in which items waited though a batch could have started. */
function countBatches(registers: Registry[]): void {
  const counters: [name: string, help: string, of: (totals: BatchTotals) => number][] = [
    ['batch_runs_total', 'Batches sent to a store, by stage.', ({ batches }) => batches],
    ['batch_items_total', 'Items of these batches.', ({ items }) => items],
    [
      'batch_run_seconds_total',
      'Time from the start of a batch to its answer.',
      ({ runMs }) => runMs / SECOND,
    ],
    [
      'batch_gap_seconds_total',
      'Time in which items waited while no batch was in flight.',
      ({ gapMs }) => gapMs / SECOND,
    ],
  ];
  for (const [name, help, of] of counters) {
    new Counter({
      name,
      help,
      labelNames: ['stage'],
      registers,
      collect() {
        this.reset();
        for (const [stage, totals] of Object.entries(batchTotals)) this.inc({ stage }, of(totals));
      },
    });
  }
}
