import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { connectPostgres, type Sql } from '../../src/platform/postgres/connect.ts';
import { freePort } from '../../test/servers/ports.ts';
import { type RunningServers, startServers } from '../../test/servers/servers.ts';
import type { SeededKeys } from '../seed.ts';
import { companies as companiesOf, type GeneratedCompany } from './names.ts';
import { run, SEED } from './revision.ts';

const ROOT = join(import.meta.dir, '../..');

/** One directory in real servers, with accounts, for processes of one checkout. */
export interface Stack {
  servers: RunningServers;
  sql: Sql;
  checkout: string;
  /** For every process of the service. */
  environment: Record<string, string>;
  keys: SeededKeys;
  /** Starts a process of the service. */
  serve(settings?: Record<string, string>): Promise<Service>;
  /** Ends the servers that it started, and removes its data from servers that keep running. */
  stop(): Promise<void>;
}

interface StackOptions {
  companies: number;
  /** Companies with a stored record. */
  records?: number;
  accounts?: number;
  /** Whether Postgres searches, without Elasticsearch. */
  inPostgres?: boolean;
  /** A folder with a revision of this repository, by default this one. */
  checkout?: string;
  /** Number of the database in Redis. */
  redisDatabase?: number;
  /** Servers that run and keep running. */
  servers?: RunningServers;
}

/** Servers with durable commits: those of the environment (test/README.md), or started. */
export const startBenchServers = (elasticsearchHeapMb = 1024) =>
  startServers({ purpose: 'benchmarks', elasticsearchHeapMb, maxConnections: 200 });

/** Loads the first companies of the generator by the command of the checkout, and seeds accounts and records. */
export async function startStack({
  companies,
  records = 0,
  accounts = 1,
  inPostgres = false,
  checkout = ROOT,
  redisDatabase = 0,
  servers: running,
}: StackOptions): Promise<Stack> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  const servers = running ?? (await startBenchServers());
  const prefix = `bench-${Date.now()}`;
  const databaseUrl = await createDatabase(servers.postgresUrl);
  const environment = {
    DATABASE_URL: databaseUrl,
    ...(inPostgres ? {} : { ELASTICSEARCH_URL: servers.elasticsearchUrl }),
    ELASTICSEARCH_PREFIX: prefix,
    ELASTICSEARCH_ALIAS: prefix, // its name in 0.1, for a comparison with it
    REDIS_URL: new URL(`/${redisDatabase}`, servers.redisUrl).href,
    DATA_DIR: join(folder, 'data'),
    REGISTRY: 'none',
  };
  const file = join(folder, 'companies.csv');
  await writeDirectory(file, companiesOf(companies));
  await runCommand(['companies', 'import', file], environment, checkout);
  const seed = [process.execPath, SEED, String(records), String(accounts)];
  const keys = JSON.parse(await run(seed, checkout, environment)) as SeededKeys;
  const sql = connectPostgres(databaseUrl);
  return {
    servers,
    sql,
    checkout,
    environment,
    keys,
    serve: (settings = {}) =>
      startProcess(['src/main.ts', 'serve'], { ...environment, ...settings }, checkout),
    async stop() {
      await sql.end();
      await removeData(servers, databaseUrl, prefix);
      if (running === undefined) await servers.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Removes a database, and the indices whose names begin with `prefix`. */
export async function removeData(
  servers: RunningServers,
  databaseUrl: string,
  prefix: string,
): Promise<void> {
  const admin = postgres(servers.postgresUrl, { max: 1 });
  await admin`DROP DATABASE ${admin(new URL(databaseUrl).pathname.slice(1))} WITH (FORCE)`;
  await admin.end();
  const list = await fetch(`${servers.elasticsearchUrl}/_cat/indices/${prefix}*?format=json&h=index`);
  for (const { index } of (await list.json()) as { index: string }[]) {
    await fetch(`${servers.elasticsearchUrl}/${index}`, { method: 'DELETE' });
  }
}

/** @returns the URL of a new, empty database */
export async function createDatabase(adminUrl: string): Promise<string> {
  const admin = postgres(adminUrl, { max: 1 });
  const name = `bench_${Date.now()}`;
  await admin.unsafe(`CREATE DATABASE ${name}`);
  await admin.end();
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Writes companies as a file to import. */
export async function writeDirectory(path: string, companies: Iterable<GeneratedCompany>): Promise<void> {
  const writer = Bun.file(path).writer({ highWaterMark: 1024 * 1024 });
  writer.write('nif,legal_name\n');
  let rows = 0;
  for (const { nif, name } of companies) {
    writer.write(`${nif},"${name.replaceAll('"', '""')}"\n`);
    if (++rows % 50_000 === 0) await writer.flush();
  }
  await writer.end();
}

/** @param checkout whose command it is; its migrations are applied */
export async function runCommand(
  words: string[],
  environment: Record<string, string>,
  checkout = ROOT,
): Promise<void> {
  const command = Bun.spawn([process.execPath, join(checkout, 'src/main.ts'), ...words], {
    cwd: checkout,
    env: { ...process.env, ...environment },
    stdout: 'ignore',
    stderr: 'inherit',
  });
  if ((await command.exited) !== 0) throw new Error(`${words.join(' ')} failed`);
}

export interface Service {
  host: string;
  port: number;
  pid: number;
  /** Resolves when the process has ended. */
  exited: Promise<unknown>;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a process of the service and waits until it answers. */
export async function startProcess(
  command: string[],
  environment: Record<string, string>,
  checkout = ROOT,
): Promise<Service> {
  const host = '127.0.0.1';
  const port = freePort();
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: checkout,
    env: { ...process.env, ...environment, PORT: String(port) },
    stdout: Bun.file(join(tmpdir(), `bench-${port}.log`)),
    stderr: 'inherit',
  });
  for (let attempt = 0; ; attempt += 1) {
    const up = await fetch(`http://${host}:${port}/health/live`).then(
      (response) => response.ok,
      () => false,
    );
    if (up) break;
    if (attempt === 200 || child.exitCode !== null) {
      child.kill('SIGKILL');
      throw new Error(`${command.join(' ')} did not start`);
    }
    await Bun.sleep(50);
  }
  return {
    host,
    port,
    pid: child.pid,
    exited: child.exited,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await child.exited;
      await rm(join(tmpdir(), `bench-${port}.log`), { force: true });
    },
  };
}
