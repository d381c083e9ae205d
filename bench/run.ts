/**
 * `bun run bench`: the request path under load, everything in one run on one machine. Prints a table in Markdown; `--write` puts it
 * into docs/performance.md.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { figuresOf, type Load, runLoad } from './lib/load.ts';
import { cpuSeconds, residentMb, storeProcesses } from './lib/processes.ts';
import { median, type Row, report } from './lib/report.ts';
import { sayAside } from './lib/say.ts';
import { createScenarios, requestsOf, type Scenario, scenariosOf } from './lib/scenarios.ts';
import { type Service, type Stack, startStack } from './lib/stack.ts';

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
    const load = (scenario: Scenario, connections: number, seconds: number, seed: number) =>
      runLoad({
        ...services[scenario.on],
        requests: requestsOf(scenario, stack.keys, seed),
        connections,
        seconds,
      });
    const warmUp = (scenario: Scenario, connections: number, seconds = Number(options['warm-up'])) =>
      load(scenario, connections, seconds, 99);
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
            services.cached = await restartCold(services.cached, stack);
            // Lookups compile the code that all requests share, and leave the cache of answers empty.
            await warmUp(scenariosOf(all, 'lookup')[0]!, connections);
          }
          const loadOnce = () => load(scenario, connections, Number(options.seconds), run);
          runs
            .get(scenario)!
            .push(await measure(scenario, stack, services[scenario.on], connections, loadOnce));
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

/** The cache of answers is empty again. */
async function restartCold(service: Service, stack: Stack): Promise<Service> {
  await service.stop();
  return stack.serve();
}

async function measure(
  scenario: Scenario,
  stack: Stack,
  service: Service,
  connections: number,
  load: () => Promise<Load>,
): Promise<Row> {
  const cpu = async () => {
    // Read each time, because Postgres starts a process for each connection, and a pool may open some during the run.
    const others = await storeProcesses(stack.servers, stack.sql);
    return {
      service: cpuSeconds([service.pid]),
      postgres: cpuSeconds(others.postgres),
      elasticsearch: cpuSeconds(others.elasticsearch),
      redis: cpuSeconds(others.redis),
    };
  };
  const before = await cpu();
  const { answers, perSecond, p50Ms, p99Ms, wrong } = figuresOf(await load());
  const after = await cpu();
  if (wrong > 0) sayAside(`${scenario.name}: ${wrong} of ${answers + wrong} without a right answer`);
  const perRequestMs = (name: keyof typeof before) => ((after[name] - before[name]) * 1000) / answers;
  return {
    scenario: scenario.name,
    connections,
    requestsPerSecond: perSecond,
    p50Ms,
    p99Ms,
    refused: wrong,
    cpuMs: {
      service: perRequestMs('service'),
      postgres: perRequestMs('postgres'),
      elasticsearch: perRequestMs('elasticsearch'),
      redis: perRequestMs('redis'),
    },
    residentMb: residentMb(service.pid),
    hitRate: scenario.on === 'cached' ? await hitRate(service) : null,
  };
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
