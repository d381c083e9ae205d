import type { Metric, Registry } from 'prom-client';
import { SECOND } from '../units.ts';

/** Upper bounds, seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface RouteDurations {
  /** Requests up to each bound and over the one before. The last counts those over all bounds. */
  buckets: number[];
  sumMs: number;
}

/**
 * Counts requests and their durations. Prom-client's counters check and hash the labels each time, which took a tenth of a
 * lookup. At a scrape the counts are given in prom-client's form.
 */
export function createRequestCounts(registry: Registry): (route: string, status: number, ms: number) => void {
  const requests = new Map<string, Map<number, number>>();
  const durations = new Map<string, RouteDurations>();

  const count = {
    name: 'http_requests_total',
    help: 'Requests answered, by route template and status.',
    type: 'counter',
    aggregator: 'sum',
    values: () =>
      [...requests].flatMap(([route, byStatus]) =>
        [...byStatus].map(([status, value]) => ({ value, labels: { route, status } })),
      ),
  };
  const duration = {
    name: 'http_request_duration_seconds',
    help: 'Time from the request to its answer, by route template.',
    type: 'histogram',
    aggregator: 'sum',
    values: () => [...durations].flatMap(([route, of]) => histogramOf(duration.name, route, of)),
  };
  for (const { values, ...about } of [count, duration]) {
    const metric = { ...about, get: async () => ({ ...about, values: values() }) };
    // Prom-client registers such plain objects itself for several processes, but its types name its classes.
    registry.registerMetric(metric as unknown as Metric);
  }

  return (route, status, ms) => {
    let byStatus = requests.get(route);
    let of = durations.get(route);
    if (byStatus === undefined || of === undefined) {
      byStatus = new Map();
      of = { buckets: Array(BOUNDS.length + 1).fill(0), sumMs: 0 };
      requests.set(route, byStatus);
      durations.set(route, of);
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    of.sumMs += ms;
    let bucket = 0;
    while (bucket < BOUNDS.length && ms > BOUNDS[bucket]! * SECOND) bucket += 1;
    of.buckets[bucket]! += 1;
  };
}

/** Each bucket of a Prometheus histogram counts all requests up to its bound. */
function histogramOf(name: string, route: string, { buckets, sumMs }: RouteDurations) {
  let count = 0;
  const values: { value: number; labels: Record<string, string | number>; metricName: string }[] = [];
  for (const [index, more] of buckets.entries()) {
    count += more;
    values.push({
      value: count,
      labels: { route, le: BOUNDS[index] ?? '+Inf' },
      metricName: `${name}_bucket`,
    });
  }
  values.push({ value: sumMs / SECOND, labels: { route }, metricName: `${name}_sum` });
  values.push({ value: count, labels: { route }, metricName: `${name}_count` });
  return values;
}
