/**
 * `bun bench/import.ts [--runs=3] [rows …]` (default 100000 1000000 5000000): how fast a directory file is in Postgres and searchable in
 * Elasticsearch, with how much memory, and how long a change of a thousand rows takes. Medians count.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { count } from '../src/platform/terminal/progress.ts';
import type { RunningServers } from '../test/servers/servers.ts';
import { companies, generateCompany, shuffled } from './lib/names.ts';
import { say } from './lib/say.ts';
import { createDatabase, removeData, startBenchServers, writeDirectory } from './lib/stack.ts';

const RUNS = Number(process.argv.find((word) => word.startsWith('--runs='))?.slice(7) ?? 3);
const PREFIX = 'bench-directory';

const exported = (rows: number) => companies(rows, (index) => generateCompany(shuffled(index)));

async function measureSize(servers: RunningServers, folder: string, rows: number): Promise<void> {
  const file = join(folder, `${rows}.csv`);
  await writeDirectory(file, exported(rows));
  say(`${count(rows)} rows, file of ${(Bun.file(file).size / 1e6).toFixed(0)} MB`);
  const imports: number[] = [];
  let databaseUrl = '';
  for (let run = 1; run <= RUNS; run++) {
    if (databaseUrl !== '') await removeData(servers, databaseUrl, `${PREFIX}-`);
    databaseUrl = await createDatabase(servers.postgresUrl);
    const { seconds, peakMb } = await runImport(servers, databaseUrl, file);
    imports.push(seconds);
    say(`  run ${run}: ${seconds.toFixed(1)} s, ${peakMb.toFixed(0)} MB at most`);
  }
  const whole = imports.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)]!;
  say(`  median: ${whole.toFixed(1)} s; ${count(Math.round(rows / whole))} rows/s`);
  const every = Math.ceil(rows / 1_000);
  const changed = exported(rows)
    .filter((_, n) => n % every === 0)
    .map(({ nif, name }) => ({ nif, name: `Nova ${name}` }));
  const small = join(folder, 'small.csv');
  await writeDirectory(small, changed);
  const { seconds } = await runImport(servers, databaseUrl, small);
  say(`  a change of 1 000 of them: ${seconds.toFixed(1)} s`);
  await removeData(servers, databaseUrl, `${PREFIX}-`);
}

async function runImport({ elasticsearchUrl }: RunningServers, databaseUrl: string, file: string) {
  const startedAt = performance.now();
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, '../src/main.ts'), 'companies', 'import', file, '--json'],
    {
      env: {
        PATH: process.env.PATH ?? '',
        DATABASE_URL: databaseUrl,
        ELASTICSEARCH_URL: elasticsearchUrl,
        ELASTICSEARCH_PREFIX: PREFIX,
      },
      stdout: 'ignore',
      stderr: 'inherit',
    },
  );
  const peak = watchMemory(child.pid);
  if ((await child.exited) !== 0) throw new Error('the import failed');
  return { seconds: (performance.now() - startedAt) / 1000, peakMb: peak() };
}

/** The most memory that a process has had, in MB, by Linux. (The system's own figure counts this process's too.) */
function watchMemory(pid: number): () => number {
  let peakMb = 0;
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      peakMb = Math.max(peakMb, Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_000);
    } catch {
      // It has ended, or this is no Linux.
    }
  }, 50);
  return () => {
    clearInterval(timer);
    return peakMb;
  };
}

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const servers = await startBenchServers(2_048);
const folder = await mkdtemp(join(tmpdir(), 'bench-import-'));
try {
  for (const rows of words.length > 0 ? words.map(Number) : [100_000, 1_000_000, 5_000_000])
    await measureSize(servers, folder, rows);
} finally {
  await rm(folder, { recursive: true, force: true });
  await servers.stop();
}
