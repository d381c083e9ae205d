/**
 * `bun bench/scaling.ts`: how many cores each process wants as the load grows, from the costs of a request in RESULTS.md. It prints the
 * table of docs/scaling.md; nothing is started or measured. test/contract.test.ts compares them.
 *
 * The model: a request costs the service what it cost at 64 connections. Stores are asked by batches, and an instance has one batch of
 * each kind in flight. So with more instances batches get smaller, and a store pays more for the same load. What a batch and an item
 * cost a store is measured by `bench/micro.ts`, and read from docs/performance.md.
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

/** The stages of a request, and how long a batch of each is in flight. */
const STAGES = {
  bucket: { store: 'redis', inFlightMs: 0.5 },
  credit: { store: 'postgres', inFlightMs: 2 },
  record: { store: 'postgres', inFlightMs: 1 },
} as const;

/** Microseconds of a store's CPU for a batch, and for each item in it. */
interface BatchCost {
  batchUs: number;
  itemUs: number;
}

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

/** Reads a row of docs/performance.md, such as `| bucket | 82 + 1.9 _n_ | Redis 55 + 3.7 _n_ |`. */
function batchCostOf(performance: string, stage: string): BatchCost {
  const row = new RegExp(String.raw`^\| ${stage} +\|[^|]+\| \w+ ([\d.]+) \+ ([\d.]+) _n_ +\|$`, 'm');
  const [, batchUs, itemUs] = (row.exec(performance) ?? []).map(Number);
  if (batchUs === undefined || itemUs === undefined) throw new Error(`no row of ${stage}`);
  return { batchUs, itemUs };
}

type Requests = Record<keyof typeof MIX, Cost>;
type Stages = Record<keyof typeof STAGES, BatchCost>;

/** Cores that are busy at a load, by process. */
function busyCores(requests: Requests, stages: Stages, load: number) {
  const of = (member: keyof Cost) =>
    (load / 1000) *
    (MIX.searches * requests.searches[member] +
      MIX.cached * requests.cached[member] +
      MIX.lookups * requests.lookups[member]);
  const service = of('serviceMs');
  const instances = Math.max(2, Math.ceil(service / (CORES_OF_AN_INSTANCE * UTILIZATION)));
  const stores = { postgres: 0, redis: 0 };
  const itemsPerSecond = { bucket: load, credit: load, record: load * MIX.lookups };
  for (const stage of ['bucket', 'credit', 'record'] as const) {
    const { store, inFlightMs } = STAGES[stage];
    const items = itemsPerSecond[stage];
    const batches = Math.min(items, (instances * 1000) / inFlightMs);
    stores[store] += (batches * stages[stage].batchUs + items * stages[stage].itemUs) / 1e6;
  }
  return { instances, service, ...stores, elasticsearch: of('elasticsearchMs') };
}

/** The table of docs/scaling.md, by the costs of RESULTS.md and docs/performance.md. */
export async function scalingTable(): Promise<string> {
  const results = await Bun.file(join(import.meta.dir, 'RESULTS.md')).text();
  const performance = await Bun.file(join(import.meta.dir, '../docs/performance.md')).text();
  const requests = {
    searches: costOf(results, 'search'),
    cached: costOf(results, 'autocomplete'),
    lookups: costOf(results, 'lookup'),
  };
  const stages = {
    bucket: batchCostOf(performance, 'bucket'),
    credit: batchCostOf(performance, 'credit'),
    record: batchCostOf(performance, 'record'),
  };
  const titles = ['requests a second', 'instances', 'service', 'Postgres', 'Redis', 'Elasticsearch'];
  const rows = LOADS.map((load) => {
    const { instances, service, postgres, redis, elasticsearch } = busyCores(requests, stages, load);
    const cores = [service, postgres, redis, elasticsearch].map((count) => count.toFixed(1));
    return [load.toLocaleString('en'), String(instances), ...cores];
  });
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(titles[column]!.length)).join(' | ')} |`;
  return [titles, titles.map((title) => '-'.repeat(title.length)), ...rows].map(line).join('\n');
}

if (import.meta.main) console.log(await scalingTable());
