/**
 * `bun bench/beside.ts`: single calls alone, and beside requests of several items as fast as they go, in turns on one process.
 * Prints requests a second and the p99 of the single calls. By default single lookups beside lists of 1,000 companies that are
 * screened; `--single` and `--several` name other scenarios (scenarios.ts), `--in-postgres` searches without Elasticsearch.
 */
import { parseArgs } from 'node:util';
import { createScenarios, type ScenarioName, targetOf } from './lib/scenarios.ts';
import { startProcess, startStack } from './lib/stack.ts';
import { type Load, runWrk } from './lib/wrk.ts';

const { values: options } = parseArgs({
  options: {
    names: { type: 'string', default: '200000' },
    records: { type: 'string', default: '100000' },
    accounts: { type: 'string', default: '200' },
    connections: { type: 'string', default: '16' },
    'single-connections': { type: 'string' },
    seconds: { type: 'string', default: '5' },
    pairs: { type: 'string', default: '5' },
    single: { type: 'string', default: 'lookup' },
    several: { type: 'string', default: 'debts, 1,000 NIFs a request' },
    'in-postgres': { type: 'boolean', default: false },
  },
});
const [names, records, accounts, connections, seconds, pairs] = [
  options.names,
  options.records,
  options.accounts,
  options.connections,
  options.seconds,
  options.pairs,
].map(Number) as [number, number, number, number, number, number];
const singleConnections = Number(options['single-connections'] ?? connections);

const stack = await startStack(names, records, accounts, options['in-postgres']);
const service = await startProcess(['src/main.ts', 'serve'], stack.environment);
try {
  const scenarios = createScenarios(stack, names, records);
  const load = (name: ScenarioName, over: number, forSeconds = seconds) => {
    const scenario = scenarios.find((one) => one.name === name)!;
    const services = {
      ceiling: service,
      bare: service,
      prototype: service,
      uncached: service,
      cached: service,
    };
    return runWrk(targetOf(scenario, stack, services), over, forSeconds);
  };
  const single = (forSeconds?: number) => load(options.single as ScenarioName, singleConnections, forSeconds);
  const several = (forSeconds?: number) => load(options.several as ScenarioName, connections, forSeconds);
  await single(10);
  await several(10);
  const show = ({ requestsPerSecond, p50Ms, p99Ms, refused, failed }: Load) =>
    `${Math.round(requestsPerSecond)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, refused ${refused + failed}`;
  for (let pair = 1; pair <= pairs; pair += 1) {
    process.stdout.write(`single alone:   ${show(await single())}\n`);
    process.stdout.write(`several alone:  ${show(await several())}\n`);
    const [beside, among] = await Promise.all([single(), several()]);
    process.stdout.write(`single beside:  ${show(beside)}\n  the several:  ${show(among)}\n`);
  }
} finally {
  await service.stop();
  await stack.stop();
}
