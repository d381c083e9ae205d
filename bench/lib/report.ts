import type { Scenario } from './scenarios.ts';

/** One measurement, or the median of several. */
export interface Row {
  scenario: string;
  connections: number;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Requests without a right answer. */
  refused: number;
  cpuMs: { service: number; postgres: number; elasticsearch: number; redis: number };
  /** Of the service, after the run. */
  residentMb: number;
  hitRate: number | null;
}

/** The row with the median rate: its figures belong together. */
export function median(rows: Row[]): Row {
  const sorted = [...rows].sort((a, b) => a.requestsPerSecond - b.requestsPerSecond);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** Cells of a table, by row. */
type Cells = (string | number)[];

const table = (heading: string[], lines: Cells[]) =>
  [heading, heading.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** The whole report in Markdown. */
export function report(
  rows: Row[],
  scenarios: Scenario[],
  options: Record<string, string | boolean | undefined>,
): string {
  const loads = [...new Set(rows.map(({ connections }) => connections))];
  const measured = scenarios.filter(({ name }) => rows.some(({ scenario }) => scenario === name));
  const rowOf = (scenario: string, connections: number) =>
    rows.find((row) => row.scenario === scenario && row.connections === connections);
  /** A figure of a scenario at each number of connections, empty if it was not measured there. */
  const atEach = (scenario: string, show: (row: Row) => string | number) =>
    loads.map((connections) => {
      const row = rowOf(scenario, connections);
      return row === undefined ? '' : show(row);
    });
  const rates = measured.map(({ name }) => [
    name,
    ...atEach(name, ({ requestsPerSecond }) => Math.round(requestsPerSecond)),
  ]);
  const times = measured.map(({ name }) => [
    name,
    ...atEach(name, ({ p50Ms, p99Ms }) => `${p50Ms.toFixed(1)}, ${p99Ms.toFixed(1)}`),
    ...atEach(name, ({ residentMb }) => Math.round(residentMb)),
  ]);
  const costs = rows.map((row) => {
    const { companiesPerRequest = 1 } = scenarios.find(({ name }) => name === row.scenario)!;
    const { service, postgres, elasticsearch, redis } = row.cpuMs;
    const sum = service + postgres + elasticsearch + redis;
    return [
      row.scenario,
      row.connections,
      ...[service, postgres, elasticsearch, redis, sum / companiesPerRequest].map((ms) => ms.toFixed(3)),
    ];
  });
  const hits = rows
    .filter(({ scenario }) => scenario === 'autocomplete')
    .map(({ hitRate, connections }) => `${Math.round((hitRate ?? 0) * 100)}% at ${connections}`);
  const refused = rows.filter((row) => row.refused > 0);
  return `# Results of \`bun run bench\`

${options.names} names, ${options.records} stored records, ${options.accounts} accounts; ${options.runs} runs of ${options.seconds} s, medians by rate.
Machine: ${options.machine}, shared by the load generator (one process), the service, Postgres, Elasticsearch and Redis. Commit ${revision()}.
Searches of autocomplete that the cache answered: ${hits.join(', ')} connections.
${refused.length === 0 ? 'Every request was answered 2xx.' : refused.map((row) => `Not answered 2xx: ${row.refused} of ${row.scenario} at ${row.connections}.`).join('\n')}

Requests a second, by the number of connections:

${table(['scenario', ...loads.map((n) => `at ${n}`)], rates)}

Times in ms (p50, p99) and memory of the service after the run, by the number of connections:

${table(['scenario', ...loads.map((n) => `ms at ${n}`), ...loads.map((n) => `MB at ${n}`)], times)}

CPU of a request in ms:

${table(['scenario', 'connections', 'service', 'Postgres', 'Elasticsearch', 'Redis', 'sum'], costs)}

The sum is for each company of a request with several.
`;
}

function revision(): string {
  return Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], { cwd: import.meta.dir })
    .stdout.toString()
    .trim();
}
