import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { connectPostgres, type Sql } from '../../src/platform/postgres/connect.ts';
import { freePort } from '../../src/service/listen.ts';
import { type RunningServers, startServers } from '../../test/servers/servers.ts';
import { createAccounts, storeRecords, UNBOUND } from '../seed.ts';
import { generateCompany } from './names.ts';

const ROOT = join(import.meta.dir, '../..');
const ALIAS = 'bench';

/** The full stack as a benchmark needs it: real servers, one loaded directory, accounts with high limits. */
export interface Stack {
  servers: RunningServers;
  sql: Sql;
  /** For every process of the service. */
  environment: Record<string, string>;
  alias: string;
  /** One key of each account. */
  keys: string[];
  stop(): Promise<void>;
}

/** @param inPostgres whether Postgres searches, without Elasticsearch */
export async function startStack(
  companies: number,
  records: number,
  accounts: number,
  inPostgres = false,
): Promise<Stack> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  const servers = await startServers({
    purpose: 'benchmarks',
    elasticsearchHeapMb: 1024,
    maxConnections: 200,
  });
  const databaseUrl = await createDatabase(servers.postgresUrl);
  const environment = {
    DATABASE_URL: databaseUrl,
    ...(inPostgres ? {} : { ELASTICSEARCH_URL: servers.elasticsearchUrl }),
    ELASTICSEARCH_ALIAS: ALIAS,
    REDIS_URL: servers.redisUrl,
    DATA_DIR: join(folder, 'data'),
    REGISTRY: 'none',
  };
  const file = join(folder, 'companies.csv');
  await writeDirectory(file, companies);
  await runCommand(['companies', 'import', file], environment);
  const sql = connectPostgres(databaseUrl);
  await storeRecords(sql, records);
  const keys = await createAccounts(sql, accounts, UNBOUND);
  // Writes the import's dirty pages now, not in the middle of a measurement.
  await sql`VACUUM ANALYZE`;
  await sql`CHECKPOINT`;
  return {
    servers,
    sql,
    environment,
    alias: ALIAS,
    keys,
    async stop() {
      await sql.end();
      await servers.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** @returns the URL of a new, empty database */
export async function createDatabase(adminUrl: string, suffix = ''): Promise<string> {
  const admin = postgres(adminUrl, { max: 1 });
  const name = `bench_${Date.now()}${suffix}`;
  await admin.unsafe(`CREATE DATABASE ${name}`);
  await admin.end();
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Writes the first companies of the generator as a file to import. */
export async function writeDirectory(path: string, companies: number): Promise<void> {
  const writer = Bun.file(path).writer({ highWaterMark: 1024 * 1024 });
  writer.write('nif,legal_name\n');
  for (let index = 0; index < companies; index += 1) {
    const { nif, name } = generateCompany(index);
    writer.write(`${nif},"${name}"\n`);
    if (index % 50_000 === 0) await writer.flush();
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
  const port = freePort(host, 0);
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
