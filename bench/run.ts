/**
 * `bun run bench`: the request path under load, everything in one run on one machine, as ratios to what the parts do by
 * themselves. Prints a table in Markdown; `--write` puts it into bench/RESULTS.md.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { measureIdle } from './lib/idle.ts';
import { cpuSeconds, residentMb, storeProcesses } from './lib/processes.ts';
import { median, type Row, report } from './lib/report.ts';
import { checkDirectSearch, createScenarios, type Scenario, targetOf } from './lib/scenarios.ts';
import { type Service, type Stack, startProcess, startStack } from './lib/stack.ts';
import { runWrk } from './lib/wrk.ts';

const { values: options } = parseArgs({
  options: {
    names: { type: 'string', default: '1000000' },
    records: { type: 'string', default: '300000' },
    accounts: { type: 'string', default: '1000' },
    connections: { type: 'string', default: '1,16,64,256' },
    seconds: { type: 'string', default: '4' },
    runs: { type: 'string', default: '5' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});

type Services = Record<Exclude<Scenario['on'], 'elasticsearch'>, Service>;

const WARM_UP_SECONDS = 5;
/** Once, before anything is measured: Java's compiler takes long to be done with the searches. */
const ELASTICSEARCH_WARM_UP_SECONDS = 25;

const say = (text: string) => process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  const names = Number(options.names);
  const records = Math.min(Number(options.records), names);
  say(`starting the stack with ${names} names`);
  const stack = await startStack(names, records, Number(options.accounts));
  const services: Services = {
    ceiling: await startProcess(['bench/lib/ceiling.ts'], {}),
    bare: await startProcess(['bench/lib/bare.ts'], {}),
    prototype: await startProcess(['bench/lib/prototype.ts'], stack.environment),
    uncached: await startProcess(['src/main.ts', 'serve'], { ...stack.environment, SEARCH_CACHE_MB: '0' }),
    cached: await startProcess(['src/main.ts', 'serve'], stack.environment),
  };
  try {
    await checkDirectSearch(stack);
    const all = createScenarios(stack, names, records);
    const lookup = all.find(({ name }) => name === 'lookup')!;
    const scenarios = all.filter(({ name }) => options.only === undefined || name.includes(options.only));
    const rows: Row[] = [];
    for (const scenario of scenarios.filter(({ on }) => on === 'elasticsearch' || on === 'uncached')) {
      await runWrk(targetOf(scenario, stack, services), 64, ELASTICSEARCH_WARM_UP_SECONDS);
    }
    for (const connections of options.connections.split(',').map(Number)) {
      const measured = scenarios.filter(
        ({ mostConnections = connections }) => connections <= mostConnections,
      );
      for (const scenario of measured) {
        await runWrk(targetOf(scenario, stack, services), connections, WARM_UP_SECONDS);
      }
      const runs = new Map<Scenario, Row[]>(measured.map((scenario) => [scenario, []]));
      for (let run = 1; run <= Number(options.runs); run += 1) {
        say(`${connections} connections, run ${run}`);
        // Each run measures every scenario, so that a disturbance of the machine affects all of them.
        for (const scenario of measured) {
          if (scenario.name === 'search, autocomplete') {
            services.cached = await restartCold(services.cached, stack);
            // Lookups compile the code that all requests share, and leave the cache of answers empty.
            await runWrk(targetOf(lookup, stack, services), connections, WARM_UP_SECONDS);
          }
          runs.get(scenario)!.push(await measure(scenario, stack, services, connections));
        }
      }
      for (const repeats of runs.values()) rows.push(median(repeats));
    }
    const idle = await measureIdle(stack, services.cached);
    const text = report(rows, scenarios, idle, {
      ...options,
      machine: `${cpus().length} × ${cpus()[0]?.model}`,
    });
    process.stdout.write(text);
    if (options.write) {
      const results = Bun.file(`${import.meta.dir}/RESULTS.md`);
      // The sections are of other programs.
      const [, ...sections] = (await results.text()).split(/^(?=## )/m);
      await Bun.write(results, [text, ...sections].join(sections.length > 0 ? '\n' : ''));
    }
  } finally {
    for (const service of Object.values(services)) await service.stop();
    await stack.stop();
  }
}

/** The cache of answers is empty again. */
async function restartCold(service: Service, stack: Stack): Promise<Service> {
  await service.stop();
  return startProcess(['src/main.ts', 'serve'], stack.environment);
}

async function measure(
  scenario: Scenario,
  stack: Stack,
  services: Services,
  connections: number,
): Promise<Row> {
  const service = scenario.on === 'elasticsearch' ? null : services[scenario.on];
  const cpu = async () => {
    // Read each time, because Postgres starts a process for each connection, and a pool may open some during the run.
    const others = await storeProcesses(stack.servers, stack.sql);
    return {
      service: service === null ? 0 : cpuSeconds([service.pid]),
      postgres: cpuSeconds(others.postgres),
      elasticsearch: cpuSeconds(others.elasticsearch),
      redis: cpuSeconds(others.redis),
    };
  };
  const before = await cpu();
  const load = await runWrk(targetOf(scenario, stack, services), connections, Number(options.seconds));
  const after = await cpu();
  if (load.refused > 0 || load.failed > 0) {
    say(`${scenario.name}: ${load.refused} refused, ${load.failed} failed of ${load.requests}`);
  }
  const answered = load.requests - load.refused - load.failed;
  const perRequestMs = (name: keyof typeof before) => ((after[name] - before[name]) * 1000) / answered;
  return {
    scenario: scenario.name,
    connections,
    // A refusal takes next to no time, so many refusals are no throughput.
    requestsPerSecond: load.requestsPerSecond * (answered / load.requests),
    p50Ms: load.p50Ms,
    p99Ms: load.p99Ms,
    refused: load.refused + load.failed,
    cpuMs: {
      service: perRequestMs('service'),
      postgres: perRequestMs('postgres'),
      elasticsearch: perRequestMs('elasticsearch'),
      redis: perRequestMs('redis'),
    },
    residentMb: service === null ? 0 : residentMb(service.pid),
    hitRate: scenario.on === 'cached' && service !== null ? await hitRate(service) : null,
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
