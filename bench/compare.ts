/**
 * `bun bench/compare.ts A B`: two revisions of this repository under the same load, in turns, on the same servers. Each has
 * its own checkout, database, index and number in Redis, with the same data. Prints the ratio of each
 * figure, B's over A's, as Markdown. Wants wrk and git.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connectPostgres, type Sql } from '../src/platform/postgres/connect.ts';
import { watchInterrupts } from '../src/platform/terminal/interrupt.ts';
import { type RunningServers, startServers } from '../test/servers/servers.ts';
import { type Burst, type Pair, scenarioTable } from './lib/compare-report.ts';
import { type ComparedScenario, comparedScenarios } from './lib/compare-scenarios.ts';
import { cpuSeconds, storeProcesses } from './lib/processes.ts';
import { underLock } from './lib/quiet.ts';
import { type Checkout, checkOut, run, SEED } from './lib/revision.ts';
import { createDatabase, runCommand, type Service, startProcess, writeDirectory } from './lib/stack.ts';
import { runWrk } from './lib/wrk.ts';
import type { SeededKeys } from './seed.ts';

const { values: options, positionals: revisions } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    names: { type: 'string', default: '300000' },
    records: { type: 'string', default: '100000' },
    accounts: { type: 'string', default: '1000' },
    scenario: { type: 'string', default: 'lookups,searches,limited,exhausted' },
    /** MB of kept answers. The default holds only the latest ones, so that each search reaches Elasticsearch. */
    cache: { type: 'string', default: '1' },
    /** A file to lock (flock) during each scenario, so that other measurements on this machine wait. */
    lock: { type: 'string' },
  },
});

/** One revision, running. */
interface Side {
  service: Service;
  sql: Sql;
  keys: SeededKeys;
}

const names = Number(options.names);
const records = Math.min(Number(options.records), names);
const pairs = Number(options.pairs);
const connections = Number(options.connections);
const seconds = Number(options.seconds);

/** Bun's compiler works for half a minute: a lookup takes the service 65 µs in the first 7 s of load, 39 in the fourth. */
const WARM_UP_SECONDS = 20;

/** The service's work after its last answer (log lines, refunds) ends within this time. */
const SETTLE_MS = 500;

const say = (text: string) => process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  const [a, b] = revisions;
  if (a === undefined || b === undefined) throw new Error('usage: bun bench/compare.ts A B [--scenario …]');
  const all = comparedScenarios(names, records);
  const scenarios = options.scenario.split(',').map((name) => {
    const found = all.find((scenario) => scenario.name === name.trim());
    if (found === undefined) throw new Error(`no scenario ${name}; there are ${all.map((one) => one.name)}`);
    return found;
  });
  const interrupts = watchInterrupts(new Error('interrupted'));
  const cleanups: (() => Promise<unknown>)[] = [];
  try {
    const sides = await underLock(options.lock, 'shared', interrupts.signal, () => prepare([a, b], cleanups));
    for (const scenario of scenarios) {
      const measured = await underLock(options.lock, 'alone', interrupts.signal, () =>
        comparePairs(scenario, sides, interrupts.signal),
      );
      process.stdout.write(`${scenarioTable(scenario.name, measured)}\n`);
    }
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup().catch((error) => say(String(error)));
    interrupts.release();
  }
}

/** Starts the servers and both revisions; `cleanups` receives what ends them, in the order they were started. */
async function prepare(revisions: string[], cleanups: (() => Promise<unknown>)[]): Promise<SideOf> {
  const folder = await mkdtemp(join(tmpdir(), 'compare-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const checkouts: Checkout[] = [];
  for (const [index, revision] of revisions.entries()) {
    const checkout = await checkOut(revision, join(folder, `checkout-${'ab'[index]}`));
    cleanups.push(checkout.remove);
    checkouts.push(checkout);
  }
  const servers = await startServers({
    purpose: 'benchmarks',
    elasticsearchHeapMb: 1024,
    maxConnections: 200,
  });
  cleanups.push(servers.stop);
  const file = join(folder, 'companies.csv');
  await writeDirectory(file, names);
  const sides: Side[] = [];
  for (const [index, checkout] of checkouts.entries()) {
    say(`${'AB'[index]} = ${checkout.label}: loading ${names} names`);
    sides.push(await startSide(checkout, 'ab'[index]!, servers, folder, cleanups));
  }
  process.stdout.write(
    `A = ${checkouts[0]!.label}\nB = ${checkouts[1]!.label}\n\n` +
      `${names} names, ${records} records, ${options.accounts} accounts, ${connections} connections, bursts of ${seconds} s.\n` +
      'A and B are medians; ratios are B / A within pairs of bursts, seconds apart. CPU is for each right answer.\n\n',
  );
  return { servers, a: sides[0]!, b: sides[1]! };
}

interface SideOf {
  servers: RunningServers;
  a: Side;
  b: Side;
}

async function startSide(
  checkout: Checkout,
  name: string,
  servers: RunningServers,
  folder: string,
  cleanups: (() => Promise<unknown>)[],
): Promise<Side> {
  const environment = {
    DATABASE_URL: await createDatabase(servers.postgresUrl, `_${name}`),
    ELASTICSEARCH_URL: servers.elasticsearchUrl,
    ELASTICSEARCH_ALIAS: `compare-${name}`,
    REDIS_URL: new URL(name === 'a' ? '/1' : '/2', servers.redisUrl).href,
    DATA_DIR: join(folder, `data-${name}`),
    REGISTRY: 'none',
    SEARCH_CACHE_MB: options.cache,
  };
  await runCommand(['companies', 'import', join(folder, 'companies.csv')], environment, checkout.folder);
  const seed = [process.execPath, SEED, String(records), options.accounts];
  const keys = JSON.parse(await run(seed, checkout.folder, environment)) as SeededKeys;
  const service = await startProcess(['src/main.ts', 'serve'], environment, checkout.folder);
  cleanups.push(service.stop);
  const sql = connectPostgres(environment.DATABASE_URL, { max: 1 });
  cleanups.push(() => sql.end());
  return { service, sql, keys };
}

/** Warms both revisions up, then measures them in turns. The order changes from pair to pair. */
async function comparePairs(
  scenario: ComparedScenario,
  { servers, a, b }: SideOf,
  signal: AbortSignal,
): Promise<Pair[]> {
  say(`${scenario.name}: ${pairs} pairs`);
  const requests = { a: scenario.requests(a.keys), b: scenario.requests(b.keys) };
  /** The requests of one burst: pair 0 is the warm-up. */
  const partOf = (all: string[], pair: number) => {
    const size = scenario.fresh ? Math.floor(all.length / (pairs + 1)) : all.length;
    return scenario.fresh ? all.slice(pair * size, (pair + 1) * size) : all;
  };
  const burst = async (name: 'a' | 'b', pair: number, lasts = seconds) => {
    signal.throwIfAborted();
    return measureBurst(scenario, name === 'a' ? a : b, partOf(requests[name], pair), lasts, servers);
  };
  await burst('a', 0, WARM_UP_SECONDS);
  await burst('b', 0, WARM_UP_SECONDS);
  const measured: Pair[] = [];
  for (let pair = 1; pair <= pairs; pair += 1) {
    const first = pair % 2 === 1 ? 'a' : 'b';
    const second = first === 'a' ? 'b' : 'a';
    const one = await burst(first, pair);
    const other = await burst(second, pair);
    measured.push(first === 'a' ? { a: one, b: other } : { a: other, b: one });
  }
  return measured;
}

async function measureBurst(
  scenario: ComparedScenario,
  side: Side,
  requests: string[],
  seconds: number,
  servers: RunningServers,
): Promise<Burst> {
  // Before each burst: Postgres starts a process for each connection.
  const stores = await storeProcesses(servers, side.sql);
  const read = async () => {
    const answers = await answersOf(side.service);
    const credits = await creditsOf(side.sql);
    const processes = { service: [side.service.pid], ...stores };
    const cpu = (name: keyof typeof processes) => cpuSeconds(processes[name]) * 1000;
    return {
      ...{ service: cpu('service'), postgres: cpu('postgres') },
      ...{ redis: cpu('redis'), elasticsearch: cpu('elasticsearch') },
      right: answers.get(scenario.status) ?? 0,
      all: [...answers.values()].reduce((sum, count) => sum + count, 0),
      credits,
    };
  };
  const before = await read();
  const load = await runWrk({ ...side.service, requests }, connections, seconds);
  await Bun.sleep(SETTLE_MS);
  const after = await read();
  const change = (name: keyof typeof before) => after[name] - before[name];
  const right = change('right');
  if (right === 0) throw new Error(`${scenario.name}: no answer had status ${scenario.status}`);
  return {
    rate: (right * load.requestsPerSecond) / load.requests,
    service: change('service') / right,
    postgres: change('postgres') / right,
    redis: change('redis') / right,
    elasticsearch: change('elasticsearch') / right,
    p50: load.p50Ms,
    p99: load.p99Ms,
    credits: change('credits') / right,
    wrong: change('all') - right + load.failed,
  };
}

/** Answers of the API by status, as the service counts them. */
async function answersOf({ host, port }: Service): Promise<Map<number, number>> {
  const text = await (await fetch(`http://${host}:${port}/metrics`)).text();
  const answers = new Map<number, number>();
  const lines = text.matchAll(/^http_requests_total\{route="\/api\/v1[^"]*",status="(\d+)"\} (\d+)/gm);
  for (const [, status, count] of lines) {
    answers.set(Number(status), (answers.get(Number(status)) ?? 0) + Number(count));
  }
  return answers;
}

/** Credits spent by all accounts in their present periods. */
async function creditsOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ used: number }[]>`SELECT sum(used)::float8 AS used FROM balances`;
  return row!.used;
}

await main();
