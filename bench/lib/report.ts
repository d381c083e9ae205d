import { tableOf } from '../../tools/table.ts';
import { type Measured, PROCESSES } from './measure.ts';
import type { Scenario } from './scenarios.ts';

/** One measurement, or the median of several. */
export interface Row extends Measured {
  scenario: string;
  connections: number;
  /** Of the service, after the run. */
  residentMb: number;
  hitRate: number | null;
}

/** The row with the median rate: its figures belong together. */
export function median(rows: Row[]): Row {
  const sorted = [...rows].sort((a, b) => a.perSecond - b.perSecond);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** The section of docs/performance.md about one run, in Markdown. */
export function report(
  rows: Row[],
  scenarios: Scenario[],
  options: Record<string, string | boolean | undefined>,
): string {
  const loads = [...new Set(rows.map(({ connections }) => connections))];
  const measured = scenarios.filter(({ name }) => rows.some(({ scenario }) => scenario === name));
  const rowsOf = (name: string) => rows.filter(({ scenario }) => scenario === name);
  /** Its cells are empty where a scenario was not measured. */
  const figures = measured.map(({ name }) => [
    name,
    ...loads.map((connections) => {
      const row = rowsOf(name).find((one) => one.connections === connections);
      if (row === undefined) return '';
      return `${Math.round(row.perSecond)} (${row.p50Ms.toFixed(1)}, ${row.p99Ms.toFixed(1)})`;
    }),
  ]);
  const costs = measured.map(({ name, companiesPerRequest = 1 }) => {
    const { connections, cpuMs } = rowsOf(name).findLast((row) => row.connections <= 64) ?? rowsOf(name)[0]!;
    const each = PROCESSES.map((name) => cpuMs[name]);
    const all = [...each, each.reduce((sum, ms) => sum + ms) / companiesPerRequest];
    return [`${name}, at ${connections}`, ...all.map((ms) => ms.toFixed(3))];
  });
  const hits = rowsOf('autocomplete').map(
    ({ hitRate, connections }) => `${Math.round((hitRate ?? 0) * 100)}% at ${connections}`,
  );
  const memory = rows.map(({ residentMb }) => Math.round(residentMb));
  const refused = rows.filter((row) => row.wrong > 0);
  return `## The whole

\`bun run bench\`: ${options.names} names, ${options.records} stored records, ${options.accounts} accounts; ${options.runs} runs of ${options.seconds} s, medians by rate.
Machine: ${options.machine}, for the load generator, the service and all stores. Commit ${revision()}.
The cache answered ${hits.join(', ')} connections of autocomplete; search is never repeated.
The service had ${Math.min(...memory)} to ${Math.max(...memory)} MB after a run.
${refused.length === 0 ? 'Every request was answered 2xx.' : refused.map((row) => `Not answered 2xx: ${row.wrong} of ${row.scenario} at ${row.connections}.`).join('\n')}

Requests a second (p50 and p99 in ms), by the number of connections:

${tableOf([['scenario', ...loads.map(String)], ...figures])}
CPU of a request in ms; the sum is for each company of a request with several:

${tableOf([['scenario', 'service', 'Postgres', 'Elasticsearch', 'Redis', 'sum'], ...costs])}
`;
}

function revision(): string {
  return Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], { cwd: import.meta.dir })
    .stdout.toString()
    .trim();
}
