/**
 * `bun bench/beside.ts`: single calls alone, and beside requests of several items as fast as they go, in turns on one process.
 * Prints requests a second and the p99 of the single calls. By default single lookups beside lists of 1,000 companies that are
 * screened; `--single` and `--several` name other scenarios (scenarios.ts), `--in-postgres` searches without Elasticsearch.
 */
import { parseArgs } from 'node:util';
import { figuresOf, runLoad } from './lib/load.ts';
import { createScenarios, requestsOf, scenariosOf } from './lib/scenarios.ts';
import { startStack } from './lib/stack.ts';

const { values: options } = parseArgs({
  options: {
    names: { type: 'string', default: '200000' },
    records: { type: 'string', default: '100000' },
    accounts: { type: 'string', default: '200' },
    connections: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '5' },
    pairs: { type: 'string', default: '5' },
    single: { type: 'string', default: 'lookup' },
    several: { type: 'string', default: 'debts of 1000' },
    'in-postgres': { type: 'boolean', default: false },
  },
});
const [companies, records, connections] = [options.names, options.records, options.connections].map(Number);

const stack = await startStack({
  companies: companies!,
  records: records!,
  accounts: Number(options.accounts),
  inPostgres: options['in-postgres'],
});
const service = await stack.serve();
try {
  const scenarios = createScenarios(companies!, records!);
  const loadOf = (name: string) => {
    const [scenario] = scenariosOf(scenarios, name);
    const schedule = { ...service, requests: requestsOf(scenario!, stack.keys), connections: connections! };
    return async (seconds = Number(options.seconds)) => figuresOf(await runLoad({ ...schedule, seconds }));
  };
  const single = loadOf(options.single);
  const several = loadOf(options.several);
  await single(10);
  await several(10);
  const show = ({ perSecond, p50Ms, p99Ms, wrong }: Awaited<ReturnType<typeof single>>) =>
    `${Math.round(perSecond)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, refused ${wrong}`;
  for (let pair = 1; pair <= Number(options.pairs); pair += 1) {
    process.stdout.write(`single alone:   ${show(await single())}\n`);
    process.stdout.write(`several alone:  ${show(await several())}\n`);
    const [beside, among] = await Promise.all([single(), several()]);
    process.stdout.write(`single beside:  ${show(beside)}\n  the several:  ${show(among)}\n`);
  }
} finally {
  await service.stop();
  await stack.stop();
}
