import { SECOND } from '../units.ts';

/** Upper bounds, seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface RouteCounts {
  byStatus: Map<number, number>;
  /** Requests up to each bound and over the one before. */
  buckets: number[];
  requests: number;
  sumMs: number;
}

/**
 * Counts requests and their durations. Prom-client's counters check and hash the labels each time, which took a tenth of a
 * lookup. So a scrape gets these lines beside prom-client's.
 */
export function createRequestCounts() {
  const routes = new Map<string, RouteCounts>();
  let running = 0;
  let tests = 0;

  function countsOf(route: string): RouteCounts {
    let counts = routes.get(route);
    if (counts === undefined) {
      counts = { byStatus: new Map(), buckets: BOUNDS.map(() => 0), requests: 0, sumMs: 0 };
      routes.set(route, counts);
    }
    return counts;
  }

  return {
    /** Shows a route's answers of these statuses as 0 from the start: Prometheus sees no increase in a series that begins at 1. */
    expect(route: string, statuses: number[]): void {
      const { byStatus } = countsOf(route);
      for (const status of statuses) if (!byStatus.has(status)) byStatus.set(status, 0);
    },
    /** Requests being answered now. */
    get running() {
      return running;
    },
    begin(): void {
      running += 1;
    },
    end(route: string, status: number, ms: number): void {
      running -= 1;
      const counts = countsOf(route);
      counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1);
      counts.sumMs += ms;
      counts.requests += 1;
      const bucket = BOUNDS.findIndex((bound) => ms <= bound * SECOND);
      if (bucket !== -1) counts.buckets[bucket]! += 1;
    },
    /** Requests of test keys are counted apart, because their problems are called up at will. */
    endTest(): void {
      running -= 1;
      tests += 1;
    },
    /** The lines of a scrape, in Prometheus's text format. */
    text(): string {
      const total = 'http_requests_total';
      const now = 'http_requests_running';
      const duration = 'http_request_duration_seconds';
      const test = 'http_test_requests_total';
      const lines = [
        `# HELP ${now} Requests being answered now.`,
        `# TYPE ${now} gauge`,
        `${now} ${running}`,
        `# HELP ${test} Requests answered to test keys. The metrics of requests by route leave them out.`,
        `# TYPE ${test} counter`,
        `${test} ${tests}`,
        `# HELP ${total} Requests answered, by route template and status.`,
        `# TYPE ${total} counter`,
      ];
      for (const [route, { byStatus }] of routes) {
        for (const [status, count] of byStatus)
          lines.push(`${total}{route="${route}",status="${status}"} ${count}`);
      }
      lines.push(
        `# HELP ${duration} Time from the request to its answer, by route template.`,
        `# TYPE ${duration} histogram`,
      );
      for (const [route, { buckets, requests, sumMs }] of routes) {
        let count = 0;
        for (const [index, more] of buckets.entries()) {
          count += more;
          lines.push(`${duration}_bucket{route="${route}",le="${BOUNDS[index]}"} ${count}`);
        }
        lines.push(
          `${duration}_bucket{route="${route}",le="+Inf"} ${requests}`,
          `${duration}_sum{route="${route}"} ${sumMs / SECOND}`,
          `${duration}_count{route="${route}"} ${requests}`,
        );
      }
      return `${lines.join('\n')}\n`;
    },
  };
}
