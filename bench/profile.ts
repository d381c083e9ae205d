/**
 * `bun bench/profile.ts`: where the CPU time of the service's process goes while it answers lookups, from a sampled profile,
 * as a Mermaid pie (docs/performance.md). Wants `wrk`.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createScenarios } from './lib/scenarios.ts';
import { startProcess, startStack } from './lib/stack.ts';
import { runWrk } from './lib/wrk.ts';

const NAMES = 20_000;
const ACCOUNTS = 1_000;
const CONNECTIONS = 64;
const SECONDS = 8;

/** A sample belongs to the part of its innermost frame whose file a pattern matches, otherwise to {@link REST}. */
const PARTS: [string, RegExp][] = [
  ['Postgres client', /node_modules\/postgres\//],
  ['Redis client', /node_modules\/(ioredis|@ioredis|redis-parser|redis-errors)\//],
  ['Elasticsearch client', /node_modules\/(@elastic|secure-json-parse)\//],
  ['Log line', /node_modules\/pino\/|platform\/observability\/log\.ts/],
  ['Metrics', /node_modules\/prom-client\/|platform\/observability\//],
  ['Elysia', /node_modules\/elysia\//],
  ['Answer, headers, request id', /src\/http\//],
  ['Batches and time-outs', /platform\/runtime\//],
  ['Bucket, credit, key', /src\/metering\//],
  ['Record', /src\/companies\//],
];
const REST = 'Event loop, promises, sockets';

interface Profile {
  nodes: { id: number; children?: number[]; callFrame: { url: string } }[];
  samples: number[];
  timeDeltas: number[];
}

/** Shares of the time in percent, by part; the start of the process is left out. */
function sharesOf({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const urls = new Map(nodes.map(({ id, callFrame }) => [id, callFrame.url]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const partOf = (sample: number): string => {
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      const part = PARTS.find(([, pattern]) => pattern.test(urls.get(id!) ?? ''));
      if (part !== undefined) return part[0];
    }
    return REST;
  };
  const times = new Map<string, number>();
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const startUs = sum(timeDeltas) - SECONDS * 1e6;
  let atUs = 0;
  for (const [position, sample] of samples.entries()) {
    atUs += timeDeltas[position]!;
    if (atUs < startUs) continue;
    const part = partOf(sample);
    times.set(part, (times.get(part) ?? 0) + timeDeltas[position]!);
  }
  const all = sum([...times.values()]);
  return new Map([...times].sort((a, b) => b[1] - a[1]).map(([part, time]) => [part, (100 * time) / all]));
}

const folder = await mkdtemp(join(tmpdir(), 'profile-'));
const stack = await startStack(NAMES, NAMES, ACCOUNTS);
try {
  const command = ['--cpu-prof', `--cpu-prof-dir=${folder}`, 'src/main.ts', 'serve'];
  const service = await startProcess(command, stack.environment);
  const lookups = createScenarios(stack, NAMES, NAMES).find(({ name }) => name === 'lookup')!;
  await runWrk({ ...service, requests: lookups.requests }, CONNECTIONS, SECONDS);
  await service.stop();
  const [file] = await readdir(folder);
  const shares = sharesOf((await Bun.file(join(folder, file!)).json()) as Profile);
  const lines = [...shares].map(([part, share]) => `  "${part}" : ${share.toFixed(1)}`);
  process.stdout.write(
    `pie title CPU time of the service's process, lookups at ${CONNECTIONS} connections\n${lines.join('\n')}\n`,
  );
} finally {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
}
