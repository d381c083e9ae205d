/**
 * `bun bench/import.ts [--runs=3] [--no-searches] [rows …]` (default 100000 1000000 5000000): how fast a directory file is in Postgres and
 * searchable in Elasticsearch, beside the floor of what the engines need for the same rows, and how a search's cost
 * grows with the directory.
 *
 * The floor is a bare COPY of the same rows, then bare `_bulk` requests of the same documents into an index of the same mapping,
 * and a refresh. The rows are in the order of results, which a sorted index takes fastest, and ready as bytes.
 *
 * Floor and import run `--runs` times in turns; medians count.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@elastic/elasticsearch';
import { NEVER_ABORTED } from '../src/companies/directory/context.ts';
import { createIndex, deleteIndex, refreshIndex } from '../src/companies/directory/indexing/indices.ts';
import { directoryRow, searchDocument } from '../src/companies/search/document.ts';
import { createElasticsearchSearch } from '../src/companies/search/elasticsearch.ts';
import { parseQuery } from '../src/companies/search/query.ts';
import { createElasticsearch } from '../src/platform/elasticsearch/client.ts';
import { connectPostgres, type Sql } from '../src/platform/postgres/connect.ts';
import { copyInto, copyValue } from '../src/platform/postgres/copy.ts';
import { openDedicated } from '../src/platform/postgres/dedicated.ts';
import { count } from '../src/platform/terminal/progress.ts';
import { startServers } from '../test/servers/servers.ts';
import { generateCompany } from './lib/names.ts';
import { say } from './lib/say.ts';

const RUNS = Number(process.argv.find((word) => word.startsWith('--runs='))?.slice(7) ?? 3);
const WITH_SEARCHES = !process.argv.includes('--no-searches');
/** The fastest of a grid of sizes and parallelism counts. */
const BULK = { documents: 5_000, parallel: 4 };
const SEARCHES = { each: 3_000, clients: 4, runs: 5 };
const ALIAS = 'bench-directory';

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
  const sizes = process.argv
    .slice(2)
    .filter((word) => !word.startsWith('--'))
    .map(Number);
  const servers = await startServers({ purpose: 'benchmarks', elasticsearchHeapMb: 2_048 });
  const folder = await mkdtemp(join(tmpdir(), 'bench-import-'));
  const sql = connectPostgres(servers.postgresUrl, { max: 4 });
  const client = createElasticsearch({ ...servers, elasticsearchApiKey: null })!;
  const searchCosts: { rows: number; cpuMs: number; p50: number; p99: number }[] = [];
  try {
    for (const rows of sizes.length > 0 ? sizes : [100_000, 1_000_000, 5_000_000]) {
      await measureSize({ ...servers, sql, client }, folder, rows);
      if (WITH_SEARCHES) searchCosts.push(await searchCost({ client }, rows));
      await resetDirectory({ sql, client });
    }
    const [smallest] = searchCosts;
    for (const { rows, cpuMs, p50, p99 } of searchCosts) {
      say(
        `searches in ${count(rows)} rows: ${(cpuMs * 1000).toFixed(0)} µs of Elasticsearch's CPU each` +
          ` (${(cpuMs / smallest!.cpuMs).toFixed(2)} times the first), p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`,
      );
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
  await writeCsv(file, rows);
  await bareBulk(servers.client, companies(Math.min(rows, 100_000))); // the engine's warm-up
  say(`${count(rows)} rows, file of ${(Bun.file(file).size / 1e6).toFixed(0)} MB`);
  const floors: number[] = [];
  const imports: number[] = [];
  const inOrder = sortedCompanies(rows);
  for (let run = 1; run <= RUNS; run++) {
    const copySeconds = await bareCopy(servers.postgresUrl, folder, inOrder);
    const bulkSeconds = await bareBulk(servers.client, inOrder);
    floors.push(copySeconds + bulkSeconds);
    const { seconds, peakMb } = await importOnce(servers, file);
    imports.push(seconds);
    say(
      `  run ${run}: COPY ${copySeconds.toFixed(1)} s + bulk ${bulkSeconds.toFixed(1)} s; ` +
        `import ${seconds.toFixed(1)} s, ${peakMb.toFixed(0)} MB at most`,
    );
  }
  const [whole, floor] = [median(imports), median(floors)];
  say(
    `  median: import ${whole.toFixed(1)} s, ${(whole / floor).toFixed(2)} times the floor of ${floor.toFixed(1)} s; ` +
      `${count(Math.round(rows / whole))} rows/s`,
  );
  const small = await smallChange(servers, folder, rows);
  say(`  a change of 1 000 of them: ${small.toFixed(1)} s`);
}

/** The same companies in the order of results. */
function sortedCompanies(rows: number): Company[] {
  const keyed = Array.from(companies(rows), (company) => ({
    company,
    key: Buffer.from(searchDocument(company.nif, company.legalName).entry),
  }));
  return keyed.sort((a, b) => Buffer.compare(a.key, b.key)).map(({ company }) => company);
}

async function writeCsv(path: string, rows: number): Promise<void> {
  const header = ['nif,legal_name\n'];
  const lines = chunks(companies(rows), 5_000, (nif, name) => `${nif},"${name}"\n`);
  await writeAll(Bun.file(path), header.values(), lines);
}

async function writeAll(file: Bun.BunFile, ...parts: Iterable<string>[]): Promise<void> {
  const writer = file.writer();
  for (const part of parts) {
    for (const text of part) {
      writer.write(text);
      await writer.flush();
    }
  }
  await writer.end();
}

async function bareCopy(databaseUrl: string, folder: string, source: Iterable<Company>): Promise<number> {
  const connection = openDedicated(databaseUrl, {});
  try {
    await connection`DROP TABLE IF EXISTS bench_copy`;
    await connection.unsafe(
      'CREATE TABLE bench_copy (nif text COLLATE "C", legal_name text, normalized_name text COLLATE "C", sort_key text COLLATE "C")',
    );
    // Put together outside of what is measured, as a file: the client only passes it on.
    const prepared = Bun.file(join(folder, 'copy.txt'));
    await writeAll(prepared, chunks(source, 5_000, copyLine));
    const startedAt = performance.now();
    const copy = await copyInto(connection, 'bench_copy');
    const decoder = new TextDecoder();
    for await (const bytes of prepared.stream()) await copy.write(decoder.decode(bytes, { stream: true }));
    await copy.finish();
    const seconds = (performance.now() - startedAt) / 1000;
    await connection`DROP TABLE bench_copy`;
    return seconds;
  } finally {
    await connection.end();
  }
}

function copyLine(nif: string, legalName: string): string {
  const { normalized_name, sort_key } = directoryRow(nif, legalName);
  return `${nif}\t${copyValue(legalName)}\t${copyValue(normalized_name)}\t${copyValue(sort_key)}\n`;
}

function bulkLines(nif: string, legalName: string): string {
  return `{"index":{"_id":"${nif}"}}\n${JSON.stringify(searchDocument(nif, legalName))}\n`;
}

function* chunks(
  source: Iterable<Company>,
  size: number,
  line: (nif: string, name: string) => string,
): Generator<string> {
  let chunk = '';
  let n = 0;
  for (const { nif, legalName } of source) {
    chunk += line(nif, legalName);
    if (++n % size === 0) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk !== '') yield chunk;
}

/** So much is put together before the clock runs, and then sent. */
const PREPARED_DOCUMENTS = 200_000;

async function bareBulk(client: Client, source: Iterable<Company>): Promise<number> {
  const index = `${ALIAS}-bare-${Date.now()}`;
  await createIndex(client, index, { directory: 'bench', generation: 0, fingerprint: '' });
  let seconds = 0;
  let prepared: Buffer[] = [];
  const send = async () => {
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: BULK.parallel }, () => sendAll(client, index, prepared)));
    seconds += (performance.now() - startedAt) / 1000;
    prepared = [];
  };
  for (const chunk of chunks(source, BULK.documents, bulkLines)) {
    prepared.push(Buffer.from(chunk));
    if (prepared.length * BULK.documents >= PREPARED_DOCUMENTS) await send();
  }
  await send();
  const startedAt = performance.now();
  await refreshIndex(client, index, NEVER_ABORTED);
  seconds += (performance.now() - startedAt) / 1000;
  await deleteIndex(client, index);
  return seconds;
}

async function sendAll(client: Client, index: string, bodies: Buffer[]): Promise<void> {
  for (let body = bodies.shift(); body !== undefined; body = bodies.shift()) {
    const answer = await client.transport.request<{ errors: boolean }>({
      method: 'POST',
      path: `/${index}/_bulk`,
      querystring: { filter_path: 'errors' },
      bulkBody: body as unknown as string,
    });
    if (answer.errors) throw new Error('Elasticsearch refused documents');
  }
}

/** Imports the file into an empty directory, by the command. */
async function importOnce(servers: Servers, file: string): Promise<{ seconds: number; peakMb: number }> {
  await resetDirectory(servers);
  return runImport(servers, file);
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
        ELASTICSEARCH_ALIAS: ALIAS,
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

async function smallChange(servers: Servers, folder: string, rows: number): Promise<number> {
  const file = join(folder, 'small.csv');
  let text = 'nif,legal_name\n';
  let n = 0;
  for (const { nif, legalName } of companies(rows)) {
    if (n++ % Math.ceil(rows / 1_000) === 0) text += `${nif},"Nova ${legalName}"\n`;
  }
  await Bun.write(file, text);
  return (await runImport(servers, file)).seconds;
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
  const indices = await client.indices.get({ index: `${ALIAS}-*` });
  for (const index of Object.keys(indices)) await deleteIndex(client, index);
}

/** Beginnings of names, short and long, and NIFs: what consumers type. */
async function searchCost({ client }: Pick<Servers, 'client'>, rows: number) {
  const queries: string[] = [];
  let n = 0;
  for (const { nif, legalName } of companies(rows)) {
    if (n++ % Math.ceil(rows / SEARCHES.each) !== 0) continue;
    if (queries.length % 5 === 4) queries.push(nif);
    else queries.push(legalName.slice(0, 1 + ((queries.length * 7) % 20)));
  }
  const search = createElasticsearchSearch(client, ALIAS);
  const runs: { cpuMs: number; p50: number; p99: number }[] = [];
  for (let run = 0; run < SEARCHES.runs; run++) {
    const latencies: number[] = [];
    const cpuBefore = await elasticsearchCpuMs(client);
    let next = 0;
    const one = async () => {
      while (next < queries.length) {
        const query = parseQuery(queries[next++]!);
        const startedAt = performance.now();
        await search.find(query);
        latencies.push(performance.now() - startedAt);
      }
    };
    await Promise.all(Array.from({ length: SEARCHES.clients }, one));
    const cpuMs = ((await elasticsearchCpuMs(client)) - cpuBefore) / queries.length;
    latencies.sort((a, b) => a - b);
    const at = (share: number) => latencies[Math.floor(latencies.length * share)]!;
    runs.push({ cpuMs, p50: at(0.5), p99: at(0.99) });
  }
  const of = (name: 'cpuMs' | 'p50' | 'p99') => median(runs.map((run) => run[name]));
  return { rows, cpuMs: of('cpuMs'), p50: of('p50'), p99: of('p99') };
}

async function elasticsearchCpuMs(client: Client): Promise<number> {
  const { nodes } = await client.nodes.stats({ metric: 'process' });
  return Object.values(nodes).reduce((sum, node) => sum + Number(node.process?.cpu?.total_in_millis ?? 0), 0);
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}

await main();
