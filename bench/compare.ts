/**
 * `bun bench/compare.ts A B`: two revisions of this repository under the same load, in turns, on the same servers. Each has
 * its own checkout, database, index and number in Redis, with the same data. Prints the ratio of each
 * figure, B's over A's, as Markdown. Wants git.
 *
 * A may be `obvious`, the service of lib/obvious.ts: `bun bench/compare.ts obvious main --scenario lookup --connections 1,4,16,64,256`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Sql } from '../src/platform/postgres/connect.ts';
import { watchInterrupts } from '../src/platform/terminal/interrupt.ts';
import { type Burst, type Pair, scenarioTable } from './lib/compare-report.ts';
import type { Schedule } from './lib/load.ts';
import { measureLoad } from './lib/measure.ts';
import { checkOut } from './lib/revision.ts';
import { sayAside } from './lib/say.ts';
import { createScenarios, requestsOf, type Scenario, scenariosOf } from './lib/scenarios.ts';
import { type Service, type Stack, startBenchServers, startProcess, startStack } from './lib/stack.ts';

const { values: options, positionals: revisions } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    names: { type: 'string', default: '300000' },
    records: { type: 'string', default: '100000' },
    accounts: { type: 'string', default: '1000' },
    scenario: { type: 'string', default: 'lookup,search,refusal by rate,refusal by credits' },
    /** MB of cached answers. By default each search reaches Elasticsearch; `autocomplete` wants 64. */
    cache: { type: 'string', default: '0' },
    'warm-up': { type: 'string', default: '20' },
  },
});

/** The name of lib/obvious.ts in place of a revision. */
const OBVIOUS = 'obvious';

/** One revision, running. */
interface Side {
  stack: Stack;
  service: Service;
}

const names = Number(options.names);
const records = Math.min(Number(options.records), names);
const pairs = Number(options.pairs);
const connections = options.connections.split(',').map(Number);

async function main(): Promise<void> {
  const [a, b] = revisions;
  if (a === undefined || b === undefined) throw new Error('usage: bun bench/compare.ts A B [--scenario …]');
  const scenarios = scenariosOf(createScenarios(names, records), options.scenario);
  const interrupts = watchInterrupts(new Error('interrupted'));
  const cleanups: (() => Promise<unknown>)[] = [];
  try {
    const sides = await prepare([a, b], cleanups);
    for (const scenario of scenarios) {
      for (const over of connections) {
        const measured = await comparePairs(scenario, over, sides, interrupts.signal);
        process.stdout.write(`${scenarioTable(`${scenario.name}, ${over} connections`, measured)}\n`);
      }
    }
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup().catch((error) => sayAside(String(error)));
    interrupts.release();
  }
}

/** Starts the servers and both revisions; `cleanups` receives what ends them, in the order they were started. */
async function prepare(
  revisions: string[],
  cleanups: (() => Promise<unknown>)[],
): Promise<Record<'a' | 'b', Side>> {
  const folder = await mkdtemp(join(tmpdir(), 'compare-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const servers = await startBenchServers();
  cleanups.push(servers.stop);
  const sides: Side[] = [];
  for (const [index, revision] of revisions.entries()) {
    const isObvious = revision === OBVIOUS;
    const checkout = isObvious ? null : await checkOut(revision, join(folder, `checkout-${index}`));
    if (checkout !== null) cleanups.push(checkout.remove);
    process.stdout.write(`${'AB'[index]} = ${checkout?.label ?? OBVIOUS}\n`);
    sayAside(`loading ${names} names`);
    const stack = await startStack({
      companies: names,
      records,
      accounts: Number(options.accounts),
      ...(checkout && { checkout: checkout.folder }),
      redisDatabase: index + 1,
      servers,
    });
    cleanups.push(stack.stop);
    const service = isObvious
      ? await startProcess(['bench/lib/obvious.ts'], stack.environment)
      : await stack.serve({ SEARCH_CACHE_MB: options.cache });
    cleanups.push(service.stop);
    sides.push({ stack, service });
  }
  process.stdout.write(
    `\n${names} names, ${records} records, ${options.accounts} accounts, bursts of ${options.seconds} s.\n` +
      'A and B are medians; ratios are B / A within pairs of bursts, seconds apart. CPU is for each right answer.\n\n',
  );
  return { a: sides[0]!, b: sides[1]! };
}

/** Warms both revisions up, then measures them in turns. The order changes from pair to pair. */
async function comparePairs(
  scenario: Scenario,
  over: number,
  sides: Record<'a' | 'b', Side>,
  signal: AbortSignal,
): Promise<Pair[]> {
  sayAside(`${scenario.name}, ${over} connections: ${pairs} pairs`);
  const burst = async (name: 'a' | 'b', pair: number, seconds = Number(options.seconds)) => {
    signal.throwIfAborted();
    const requests = requestsOf(scenario, sides[name].stack.keys, pair);
    return measureBurst(scenario, sides[name], { requests, connections: over, seconds });
  };
  // Bun's compiler works for half a minute: a lookup takes the service 65 µs in the first 7 s of load, 39 in the fourth.
  await burst('a', 0, Number(options['warm-up']));
  await burst('b', 0, Number(options['warm-up']));
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
  { name, status = 200 }: Scenario,
  { stack, service }: Side,
  schedule: Pick<Schedule, 'requests' | 'connections' | 'seconds'>,
): Promise<Burst> {
  const before = await creditsOf(stack.sql);
  const measured = await measureLoad(stack, service, schedule, status);
  if (measured.answers === 0) throw new Error(`${name}: no answer had status ${status}`);
  return { ...measured, credits: ((await creditsOf(stack.sql)) - before) / measured.answers };
}

/** Credits spent by all accounts in their present periods. */
async function creditsOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ used: number }[]>`SELECT sum(used)::float8 AS used FROM balances`;
  return row!.used;
}

await main();
