import { type Idle, REQUESTS } from './idle.ts';
import type { Scenario, ScenarioName } from './scenarios.ts';

/** One measurement, or the median of several. */
export interface Row {
  scenario: string;
  connections: number;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Requests that were not answered 2xx. */
  refused: number;
  cpuMs: { service: number; postgres: number; elasticsearch: number; redis: number };
  /** Of the service, after the run. */
  residentMb: number;
  hitRate: number | null;
}

/**
 * The least cost of a row's requests, at the same number of connections: the bare route in this process, the prototype's
 * statements in Redis and Postgres, and Elasticsearch asked directly. Null for rows without a floor.
 */
function floorMs(row: Row, rows: Row[]): number | null {
  const at = (scenario: ScenarioName) =>
    rows.find((other) => other.scenario === scenario && other.connections === row.connections)?.cpuMs;
  const [bare, prototype, direct] = [
    at('bare Elysia route'),
    at('lookup, the prototype'),
    at('Elasticsearch asked directly'),
  ];
  if (bare === undefined || prototype === undefined) return null;
  const metering = bare.service + prototype.postgres + prototype.redis;
  if (row.scenario.startsWith('lookup')) return metering;
  if (!row.scenario.startsWith('search') || direct === undefined) return null;
  return metering + direct.elasticsearch;
}

const sumOf = (cpuMs: Row['cpuMs']) => Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0);

/** The row with the median rate: its figures belong together. */
export function median(rows: Row[]): Row {
  const sorted = [...rows].sort((a, b) => a.requestsPerSecond - b.requestsPerSecond);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** The whole report in Markdown. */
export function report(
  rows: Row[],
  scenarios: Scenario[],
  idle: Idle,
  options: Record<string, string | boolean | undefined>,
): string {
  const lines = rows.map((row) => {
    const { against, companiesPerRequest = 1 } = scenarios.find(({ name }) => name === row.scenario)!;
    const base = rows.find(
      ({ scenario, connections }) => scenario === against && connections === row.connections,
    );
    const ratio =
      base === undefined
        ? ''
        : `${((row.requestsPerSecond * companiesPerRequest) / base.requestsPerSecond).toFixed(2)} × ${against}`;
    const { service, postgres, elasticsearch, redis } = row.cpuMs;
    // Of a request with several companies: of each.
    const cpuMs = sumOf(row.cpuMs) / companiesPerRequest;
    const floor = floorMs(row, rows);
    const prototype = rows.find(
      ({ scenario, connections }) => scenario === 'lookup, the prototype' && connections === row.connections,
    );
    const isLookup = row.scenario.startsWith('lookup') && prototype !== undefined;
    return [
      row.scenario +
        (row.hitRate === null || !row.scenario.startsWith('search')
          ? ''
          : ` (${Math.round(row.hitRate * 100)}% hits)`),
      row.connections,
      Math.round(row.requestsPerSecond),
      ratio,
      row.p50Ms.toFixed(1),
      row.p99Ms.toFixed(1),
      [service, postgres, elasticsearch, redis].map((ms) => ms.toFixed(3)).join(' / '),
      cpuMs.toFixed(3),
      isLookup ? (cpuMs / sumOf(prototype.cpuMs)).toFixed(2) : '',
      floor === null ? '' : (cpuMs / floor).toFixed(2),
      row.residentMb === 0 ? '' : Math.round(row.residentMb),
      row.refused,
    ];
  });
  const heading = [
    'scenario',
    'connections',
    'req/s',
    'ratio',
    'p50 ms',
    'p99 ms',
    'CPU ms a request: service / Postgres / Elasticsearch / Redis',
    'CPU ms in sum',
    'of the prototype',
    'of the floor',
    'MB',
    'not 2xx',
  ];
  const parts = idle.bucket + idle.credit + idle.record;
  return `# Results of \`bun run bench\`

${options.names} names, ${options.records} stored records, ${options.accounts} accounts; ${options.runs} runs of ${options.seconds} s, medians by rate.
Machine: ${options.machine}, shared by the load generator (wrk, one thread), the service, Postgres, Elasticsearch and Redis. Commit ${revision()}.

${[heading, heading.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}

CPU in sum is that of the service and its stores, for each company of a request with several. The prototype is \`bench/lib/prototype.ts\`, whose sum is
that of the least code that meters a lookup. The floor is nobody's code of ours: the bare route's CPU, what the prototype takes Redis and Postgres,
and for searches what a search asked directly takes Elasticsearch, all at the same number of connections.

One lookup at a time on an idle service takes ${idle.request.toFixed(2)} ms; its bucket ${idle.bucket.toFixed(2)}, its credit ${idle.credit.toFixed(2)} and its record ${idle.record.toFixed(2)} ms,
asked one after the other from elsewhere, take ${parts.toFixed(2)}: the service adds ${(idle.request - parts).toFixed(2)} ms (medians of ${REQUESTS}).
`;
}

function revision(): string {
  return Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], { cwd: import.meta.dir })
    .stdout.toString()
    .trim();
}
