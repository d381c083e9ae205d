/**
 * `bun bench/import.ts [--runs=3] [rows …]` (default 100000 1000000 5000000): how fast a directory file is in Postgres and searchable in
 * Elasticsearch, with how much memory, and how long a change of a thousand rows takes. Medians count.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@elastic/elasticsearch';
import { deleteIndex } from '../src/companies/directory/indexing/indices.ts';
import { createElasticsearch } from '../src/platform/elasticsearch/client.ts';
import { connectPostgres, type Sql } from '../src/platform/postgres/connect.ts';
import { count } from '../src/platform/terminal/progress.ts';
import { generateCompany } from './lib/names.ts';
import { say } from './lib/say.ts';
import { startBenchServers } from './lib/stack.ts';

const RUNS = Number(process.argv.find((word) => word.startsWith('--runs='))?.slice(7) ?? 3);
const PREFIX = 'bench-directory';

interface Company {
  nif: string;
  legalName: string;
}

/** The generator's companies with their names and NIFs in no order, as in a register's export. */
function* companies(rows: number): Generator<Company> {
  for (let n = 0; n < rows; n++) {
    const { nif, name } = generateCompany((n * 7_919) % 9_999_991);
    yield { nif, legalName: name };
  }
}

interface Servers {
  postgresUrl: string;
  elasticsearchUrl: string;
  sql: Sql;
  client: Client;
}

async function main(): Promise<void> {
  const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
  const sizes = words.map(Number);
  const servers = await startBenchServers(2_048);
  const folder = await mkdtemp(join(tmpdir(), 'bench-import-'));
  const sql = connectPostgres(servers.postgresUrl, { max: 4 });
  const client = createElasticsearch({ ...servers, elasticsearchApiKey: null })!;
  try {
    for (const rows of sizes.length > 0 ? sizes : [100_000, 1_000_000, 5_000_000]) {
      await measureSize({ ...servers, sql, client }, folder, rows);
      await resetDirectory({ sql, client });
    }
  } finally {
    await client.close();
    await sql.end();
    await rm(folder, { recursive: true, force: true });
    await servers.stop();
  }
}

async function measureSize(servers: Servers, folder: string, rows: number): Promise<void> {
  const file = join(folder, `${rows}.csv`);
  await writeCsv(file, companies(rows));
  say(`${count(rows)} rows, file of ${(Bun.file(file).size / 1e6).toFixed(0)} MB`);
  const imports: number[] = [];
  for (let run = 1; run <= RUNS; run++) {
    await resetDirectory(servers);
    const { seconds, peakMb } = await runImport(servers, file);
    imports.push(seconds);
    say(`  run ${run}: ${seconds.toFixed(1)} s, ${peakMb.toFixed(0)} MB at most`);
  }
  const whole = median(imports);
  say(`  median: ${whole.toFixed(1)} s; ${count(Math.round(rows / whole))} rows/s`);
  const every = Math.ceil(rows / 1_000);
  const small = join(folder, 'small.csv');
  await writeCsv(
    small,
    companies(rows)
      .filter((_, n) => n % every === 0)
      .map(({ nif, legalName }) => ({ nif, legalName: `Nova ${legalName}` })),
  );
  say(`  a change of 1 000 of them: ${(await runImport(servers, small)).seconds.toFixed(1)} s`);
}

async function writeCsv(path: string, source: Iterable<Company>): Promise<void> {
  const writer = Bun.file(path).writer({ highWaterMark: 1024 * 1024 });
  writer.write('nif,legal_name\n');
  let rows = 0;
  for (const { nif, legalName } of source) {
    writer.write(`${nif},"${legalName}"\n`);
    if (++rows % 50_000 === 0) await writer.flush();
  }
  await writer.end();
}

async function runImport({ postgresUrl, elasticsearchUrl }: Servers, file: string) {
  const startedAt = performance.now();
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, '../src/main.ts'), 'companies', 'import', file, '--json'],
    {
      env: {
        PATH: process.env.PATH ?? '',
        DATABASE_URL: benchUrl(postgresUrl),
        ELASTICSEARCH_URL: elasticsearchUrl,
        ELASTICSEARCH_PREFIX: PREFIX,
      },
      stdout: 'pipe',
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

const BENCH_DATABASE = 'bench_directory';

function benchUrl(postgresUrl: string): string {
  const url = new URL(postgresUrl);
  url.pathname = `/${BENCH_DATABASE}`;
  return url.href;
}

async function resetDirectory({ sql, client }: Pick<Servers, 'sql' | 'client'>): Promise<void> {
  await sql.unsafe(`DROP DATABASE IF EXISTS ${BENCH_DATABASE} WITH (FORCE)`);
  await sql.unsafe(`CREATE DATABASE ${BENCH_DATABASE}`);
  const indices = await client.indices.get({ index: `${PREFIX}-*` });
  for (const index of Object.keys(indices)) await deleteIndex(client, index);
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}

await main();
