/**
 * `bun bench/scaling.ts`: how many cores each process wants as the load grows, from the costs of a request in RESULTS.md. It prints the
 * table of docs/scaling.md; nothing is started or measured.
 *
 * The model: a request costs the service what it cost at 64 connections. Stores are asked by batches, and an instance has one batch of
 * each kind in flight. So with more instances batches get smaller, and a store pays more for the same load. What a batch and an item
 * cost a store is measured by `bench/micro.ts`.
 */
import { join } from 'node:path';

/** Of the load: searches that the cache doesn't answer, searches that it does, and lookups. */
const MIX = { searches: 0.2, cached: 0.3, lookups: 0.5 };
/** Requests a second. */
const LOADS = [1_000, 10_000, 100_000, 1_000_000];
/** Busy cores of all that a machine has; the rest is for bursts, and for the death of a neighbour. */
const UTILIZATION = 0.5;
/** An instance is a process with one thread that runs JavaScript. */
const CORES_OF_AN_INSTANCE = 1;

/** Microseconds of a store's CPU for a batch and for each item in it, and how long a batch is in flight (docs/performance.md). */
const BATCHES = {
  bucket: { store: 'redis', batchUs: 39, itemUs: 3.1, inFlightMs: 0.5 },
  credit: { store: 'postgres', batchUs: 247, itemUs: 4.9, inFlightMs: 2 },
  record: { store: 'postgres', batchUs: 40, itemUs: 8.4, inFlightMs: 1 },
} as const;

/** CPU of one request at 64 connections. */
interface Cost {
  serviceMs: number;
  elasticsearchMs: number;
}

/** Reads a row of the CPU table of RESULTS.md, such as `| lookup | 64 | 0.056 | 0.039 | 0.001 | 0.007 | …`. */
function costOf(results: string, scenario: string): Cost {
  // No rate is 64 a second, so only the table of CPU has rows that begin like this.
  const row = results.split('\n').find((line) => line.startsWith(`| ${scenario} | 64 | `));
  const [serviceMs, , elasticsearchMs] = row?.split(' | ').slice(2).map(Number) ?? [];
  if (serviceMs === undefined || elasticsearchMs === undefined) throw new Error(`no row of ${scenario}`);
  return { serviceMs, elasticsearchMs };
}

/** Cores that are busy at a load, by process. */
function busyCores(costs: { searches: Cost; cached: Cost; lookups: Cost }, load: number) {
  const of = (member: keyof Cost) =>
    (load / 1000) *
    (MIX.searches * costs.searches[member] +
      MIX.cached * costs.cached[member] +
      MIX.lookups * costs.lookups[member]);
  const service = of('serviceMs');
  const instances = Math.max(2, Math.ceil(service / (CORES_OF_AN_INSTANCE * UTILIZATION)));
  const stores = { postgres: 0, redis: 0 };
  const itemsPerSecond = { bucket: load, credit: load, record: load * MIX.lookups };
  for (const [stage, { store, batchUs, itemUs, inFlightMs }] of Object.entries(BATCHES)) {
    const items = itemsPerSecond[stage as keyof typeof BATCHES];
    const batches = Math.min(items, (instances * 1000) / inFlightMs);
    stores[store] += (batches * batchUs + items * itemUs) / 1e6;
  }
  return { instances, service, ...stores, elasticsearch: of('elasticsearchMs') };
}

const results = await Bun.file(join(import.meta.dir, 'RESULTS.md')).text();
const costs = {
  searches: costOf(results, 'search, random prefixes, no cache'),
  cached: costOf(results, 'search, autocomplete'),
  lookups: costOf(results, 'lookup'),
};
console.log('| requests a second | instances | service | Postgres | Redis | Elasticsearch |');
console.log('| ----------------- | --------- | ------- | -------- | ----- | ------------- |');
for (const load of LOADS) {
  const { instances, ...cores } = busyCores(costs, load);
  const shown = [cores.service, cores.postgres, cores.redis, cores.elasticsearch].map((n) => n.toFixed(1));
  console.log(`| ${load.toLocaleString('en')} | ${instances} | ${shown.join(' | ')} |`);
}
