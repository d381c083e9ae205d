/**
 * `bun bench/beside.ts`: single lookups alone, and beside lists of 1,000 companies that are screened as fast as they go, in turns on
 * one process. Prints companies a second and the p99 of the lookups.
 */
import { parseArgs } from 'node:util';
import { createScenarios, type ScenarioName, targetOf } from './scenarios.ts';
import { startProcess, startStack } from './stack.ts';
import { type Load, runWrk } from './wrk.ts';

const { values: options } = parseArgs({
  options: {
    names: { type: 'string', default: '200000' },
    records: { type: 'string', default: '100000' },
    accounts: { type: 'string', default: '200' },
    connections: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '5' },
    pairs: { type: 'string', default: '5' },
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

const stack = await startStack(names, records, accounts);
const service = await startProcess(['src/main.ts', 'serve'], stack.environment);
try {
  const scenarios = createScenarios(stack, names, records);
  const load = (name: ScenarioName, forSeconds = seconds) => {
    const scenario = scenarios.find((one) => one.name === name)!;
    const services = {
      ceiling: service,
      bare: service,
      prototype: service,
      uncached: service,
      cached: service,
    };
    return runWrk(targetOf(scenario, stack, services), connections, forSeconds);
  };
  const lookup = () => load('lookup');
  const lists = () => load('debts, 1,000 NIFs a request');
  await load('lookup', 10);
  await load('debts, 1,000 NIFs a request', 10);
  const show = ({ requestsPerSecond, p50Ms, p99Ms, refused, failed }: Load) =>
    `${Math.round(requestsPerSecond)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, refused ${refused + failed}`;
  for (let pair = 1; pair <= pairs; pair += 1) {
    process.stdout.write(`lookups alone:  ${show(await lookup())}\n`);
    process.stdout.write(`lists alone:    ${show(await lists())}\n`);
    const [beside, screened] = await Promise.all([lookup(), lists()]);
    process.stdout.write(`lookups beside: ${show(beside)}\n  the lists:    ${show(screened)}\n`);
  }
} finally {
  await service.stop();
  await stack.stop();
}
