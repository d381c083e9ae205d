/**
 * `bun run bench`: the request path under load, everything in one run on one machine. Prints a table in Markdown; `--write` puts it
 * into docs/performance.md.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { runLoad } from './lib/load.ts';
import { measureLoad } from './lib/measure.ts';
import { residentMb } from './lib/processes.ts';
import { median, type Row, report } from './lib/report.ts';
import { sayAside } from './lib/say.ts';
import { createScenarios, requestsOf, type Scenario, scenariosOf } from './lib/scenarios.ts';
import { type Service, startStack } from './lib/stack.ts';

const { values: options } = parseArgs({
  options: {
    names: { type: 'string', default: '1000000' },
    records: { type: 'string', default: '300000' },
    accounts: { type: 'string', default: '1000' },
    connections: { type: 'string', default: '1,16,64,256' },
    seconds: { type: 'string', default: '4' },
    runs: { type: 'string', default: '5' },
    'warm-up': { type: 'string', default: '5' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});

type Services = Record<Scenario['on'], Service>;

async function main(): Promise<void> {
  const companies = Number(options.names);
  const records = Math.min(Number(options.records), companies);
  sayAside(`starting the stack with ${companies} names`);
  const stack = await startStack({ companies, records, accounts: Number(options.accounts) });
  const services: Services = {
    uncached: await stack.serve({ SEARCH_CACHE_MB: '0' }),
    cached: await stack.serve(),
  };
  try {
    const all = createScenarios(companies, records).filter(({ status }) => status === undefined);
    const scenarios = options.only === undefined ? all : scenariosOf(all, options.only);
    const scheduleOf = (scenario: Scenario, connections: number, seconds: number, seed: number) => {
      const requests = requestsOf(scenario, stack.keys, seed);
      return { requests, connections, seconds };
    };
    const warmUp = (scenario: Scenario, connections: number, seconds = Number(options['warm-up'])) =>
      runLoad({ ...services[scenario.on], ...scheduleOf(scenario, connections, seconds, 99) });
    const rows: Row[] = [];
    // Java's compiler takes long to be done with the searches.
    for (const scenario of scenarios.filter(({ on }) => on === 'uncached'))
      await warmUp(scenario, 64, 5 * Number(options['warm-up']));
    for (const connections of options.connections.split(',').map(Number)) {
      const measured = scenarios.filter(
        ({ mostConnections = connections }) => connections <= mostConnections,
      );
      for (const scenario of measured) await warmUp(scenario, connections);
      const runs = new Map<Scenario, Row[]>(measured.map((scenario) => [scenario, []]));
      for (let run = 1; run <= Number(options.runs); run += 1) {
        sayAside(`${connections} connections, run ${run}`);
        // Each run measures every scenario, so that a disturbance of the machine affects all of them.
        for (const scenario of measured) {
          if (scenario.name === 'autocomplete') {
            // The cache of answers is empty again.
            await services.cached.stop();
            services.cached = await stack.serve();
            // Lookups compile the code that all requests share, and leave the cache of answers empty.
            await warmUp(scenariosOf(all, 'lookup')[0]!, connections);
          }
          const service = services[scenario.on];
          const schedule = scheduleOf(scenario, connections, Number(options.seconds), run);
          const measured = await measureLoad(stack, service, schedule);
          runs.get(scenario)!.push({
            ...measured,
            scenario: scenario.name,
            connections,
            residentMb: residentMb(service.pid),
            hitRate: scenario.on === 'cached' ? await hitRate(service) : null,
          });
        }
      }
      for (const repeats of runs.values()) rows.push(median(repeats));
    }
    const text = report(rows, scenarios, { ...options, machine: `${cpus().length} × ${cpus()[0]?.model}` });
    process.stdout.write(text);
    if (options.write) {
      const page = Bun.file(`${import.meta.dir}/../docs/performance.md`);
      const section = /^## The whole\n[\s\S]*?(?=^## )/m;
      await Bun.write(
        page,
        (await page.text()).replace(section, () => text),
      );
    }
  } finally {
    for (const service of Object.values(services)) await service.stop();
    await stack.stop();
  }
}

/** Of all searches for names that the service has answered since it started. */
async function hitRate({ host, port }: Service): Promise<number | null> {
  const text = await (await fetch(`http://${host}:${port}/metrics`)).text();
  const count = (outcome: string) =>
    Number(new RegExp(`search_cache_answers_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
  const all = count('hit') + count('miss');
  return all === 0 ? null : count('hit') / all;
}

await main();
