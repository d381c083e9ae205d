import { Counter, Gauge, Registry } from 'prom-client';
import { allTotals, type BatchTotals } from '../runtime/batch-totals.ts';
import { SECOND } from '../units.ts';
import { VERSION } from '../version.ts';
import { createRequestCounts } from './request-counts.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The metrics at `/metrics`. Labels come from fixed lists, so that their number stays small. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  /** A gauge that is read at each scrape. */
  const gaugeOf = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  /** A counter whose totals are kept elsewhere: at each scrape `read` gives the total for each value of the label. */
  const counterOf = (name: string, help: string, label: string, read: () => Record<string, number>) =>
    new Counter({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset();
        for (const [value, total] of Object.entries(read())) this.inc({ [label]: value }, total);
      },
    });

  const requests = createRequestCounts();
  new Gauge({
    name: 'build_info',
    help: '1, with the version of the service and of Bun as labels.',
    labelNames: ['version', 'bun'],
    registers,
  }).set({ version: VERSION, bun: Bun.version }, 1);
  gaugeOf('process_resident_memory_bytes', 'Memory that the process occupies.', () =>
    process.memoryUsage.rss(),
  );
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
  for (const [name, help, of] of BATCH_COUNTERS) {
    const read = () => Object.fromEntries([...allTotals()].map(([stage, totals]) => [stage, of(totals)]));
    counterOf(name, help, 'stage', read);
  }
  const sources = counter(
    'source_requests_total',
    'Questions to company data sources, by source and outcome.',
    'source',
    'outcome',
  );
  const sourceLimits = counter(
    'source_limits_total',
    'Answers of company data sources that their limit is reached, by source and the window of the limit.',
    'source',
    'window',
  );
  // Prometheus sees no increase in a series that begins at 1.
  for (const window of ['minute', 'hour', 'day', 'month']) sourceLimits.inc({ source: 'nif.pt', window }, 0);
  const refreshesRefused = counter(
    'refreshes_refused_total',
    'Lookups that were refused because the refreshes of their account, or of all accounts, were used up, by budget.',
    'budget',
  );
  for (const budget of ['account-day', 'account-minute', 'all-day', 'free-day']) {
    refreshesRefused.inc({ budget }, 0);
  }
  const redisAway = new Gauge({
    name: 'rate_limit_local',
    help: '1 while rate limits are kept by this process alone because Redis is away.',
    registers,
  });
  const localDecisions = counter(
    'rate_limit_local_decisions_total',
    'Requests that a bucket of this process alone decided, because Redis was away or late.',
  );
  const toolCalls = counter(
    'mcp_tool_calls_total',
    'Calls of tools by agents. Each is also a request of its route in http_requests_total.',
    'tool',
  );
  const batchesVoided = counter(
    'credit_batches_voided_total',
    'Batches of credits that Postgres did not answer, voided so that their requests cost nothing.',
  );
  return {
    requests,
    /** One question to a company data source. @param count 0 shows the series before its first event */
    source: (source: string, outcome: string, count = 1) => sources.inc({ source, outcome }, count),
    /** A source answered that its limit is reached. @param window the limit's period, `minute` to `month` */
    sourceLimit: (source: string, window: string) => sourceLimits.inc({ source, window }),
    /** @param budget `account-day`, `account-minute`, `all-day` or `free-day` */
    refreshRefused: (budget: string) => refreshesRefused.inc({ budget }),
    /** Registers the refreshes of all accounts on this day, and their bound if there is one. */
    observeRefreshes(today: () => number, perDay: number | null) {
      gaugeOf(
        'refreshes_today',
        'Refreshes of all accounts on this day (UTC), as this process last took one.',
        today,
      );
      if (perDay !== null) gaugeOf('refreshes_per_day', 'REFRESHES_PER_DAY.', () => perDay);
    },
    /** @param count 0 shows the series before its first event */
    toolCall: (tool: string, count = 1) => toolCalls.inc({ tool }, count),
    redisAway: (away: boolean) => redisAway.set(away ? 1 : 0),
    localDecision: () => localDecisions.inc(),
    batchVoided: () => batchesVoided.inc(),
    /** Registers a gauge that is 1 or 0 for each value of its label, as `read` says at the scrape. */
    observeFlags(
      name: string,
      help: string,
      label: string,
      read: () => Record<string, boolean> | Promise<Record<string, boolean>>,
    ) {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          for (const [value, flag] of Object.entries(await read()))
            this.set({ [label]: value }, Number(flag));
        },
      });
    },
    /** Registers the figures of the search cache. */
    observeSearchCache(cache: { hits: number; misses: number; bytes: number }) {
      counterOf(
        'search_cache_answers_total',
        'Searches for names and matches, by whether the cache of answers had them.',
        'outcome',
        () => ({ hit: cache.hits, miss: cache.misses }),
      );
      gaugeOf('search_cache_bytes', 'Estimated memory of the cache of search answers.', () => cache.bytes);
    },
    text: async () => `${requests.text()}\n${await registry.metrics()}`,
    contentType: registry.contentType,
  };
}

/** How well batches work: items a batch, time in flight, and time in which items waited though a batch could have started. */
const BATCH_COUNTERS: [name: string, help: string, of: (totals: BatchTotals) => number][] = [
  ['batch_runs_total', 'Batches sent to a store, by stage.', ({ batches }) => batches],
  ['batch_items_total', 'Items of these batches.', ({ items }) => items],
  ['batch_run_seconds_total', 'Time from the start of a batch to its answer.', ({ runMs }) => runMs / SECOND],
  [
    'batch_gap_seconds_total',
    'Time in which items waited while no batch was in flight.',
    ({ gapMs }) => gapMs / SECOND,
  ],
];
