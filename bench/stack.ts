import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { changeLimits } from '../src/accounts/changes.ts';
import { createAccount } from '../src/accounts/store.ts';
import { createKey } from '../src/keys/store.ts';
import { connectPostgres, type Sql } from '../src/postgres/connect.ts';
import { freePort } from '../src/service/listen.ts';
import { type RunningServers, startServers } from '../test/servers/servers.ts';
import { generateCompany } from './names.ts';

const ROOT = join(import.meta.dir, '..');
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

export async function startStack(companies: number, records: number, accounts: number): Promise<Stack> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  const servers = await startServers({
    purpose: 'benchmarks',
    elasticsearchHeapMb: 1024,
    maxConnections: 200,
  });
  const databaseUrl = await createDatabase(servers.postgresUrl);
  const environment = {
    DATABASE_URL: databaseUrl,
    ELASTICSEARCH_URL: servers.elasticsearchUrl,
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
  const keys = await createAccounts(sql, accounts);
  // What the import left dirty is written now, not in the middle of a measurement.
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

async function createDatabase(adminUrl: string): Promise<string> {
  const admin = postgres(adminUrl, { max: 1 });
  const name = `bench_${Date.now()}`;
  await admin.unsafe(`CREATE DATABASE ${name}`);
  await admin.end();
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function writeDirectory(path: string, companies: number): Promise<void> {
  const writer = Bun.file(path).writer({ highWaterMark: 1024 * 1024 });
  writer.write('nif,legal_name\n');
  for (let index = 0; index < companies; index += 1) {
    const { nif, name } = generateCompany(index);
    writer.write(`${nif},"${name}"\n`);
    if (index % 50_000 === 0) await writer.flush();
  }
  await writer.end();
}

export async function runCommand(words: string[], environment: Record<string, string>): Promise<void> {
  const command = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), ...words], {
    env: { ...process.env, ...environment },
    stdout: 'ignore',
    stderr: 'inherit',
  });
  if ((await command.exited) !== 0) throw new Error(`${words.join(' ')} failed`);
}

/** Fresh records of the first companies, a tenth of them with a tax debt. */
async function storeRecords(sql: Sql, records: number): Promise<void> {
  await sql`
    INSERT INTO companies (nif, details, source, fetched_at)
    SELECT nif, json_strip_nulls(json_build_object(
      'title', legal_name, 'address', 'Rua da Liberdade, 12', 'zipcode', '1250-096', 'city', 'LISBOA',
      'activity', 'Comércio por grosso', 'status', 'active', 'cae', '46900', 'structure', json_build_object(
        'nature', 'LDA', 'capital', '5000.00', 'capital_currency', 'EUR'))), 'nif.pt', now()
    FROM directory_entries ORDER BY nif LIMIT ${records}`;
  await sql`INSERT INTO debt_datasets (kind, dataset_date, rows, imported_by) VALUES ('tax', '2026-11-01', 0, 'bench')`;
  await sql`
    INSERT INTO debts (kind, nif, start_amount, end_amount)
    SELECT 'tax', nif, 7500, 25000 FROM companies WHERE nif LIKE '%0'`;
}

async function createAccounts(sql: Sql, accounts: number): Promise<string[]> {
  const keys: string[] = [];
  const one = async (number: number) => {
    const { id } = await createAccount(sql, { name: `Bench ${number}`, plan: 'plus' }, 'bench');
    await changeLimits(sql, id, { requestsPerMinute: 10_000_000, includedCredits: 1_000_000_000 }, 'bench');
    keys[number] = (await createKey(sql, id, '', 'bench')).secret;
  };
  let next = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (next < accounts) await one(next++);
    }),
  );
  return keys;
}

export interface Service {
  host: string;
  port: number;
  pid: number;
  stop(): Promise<void>;
}

/** Starts a process of the service and waits until it answers. */
export async function startProcess(command: string[], environment: Record<string, string>): Promise<Service> {
  const host = '127.0.0.1';
  const port = freePort(host);
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: ROOT,
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
    if (attempt === 200 || child.exitCode !== null) throw new Error(`${command.join(' ')} did not start`);
    await Bun.sleep(50);
  }
  return {
    host,
    port,
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
      await rm(join(tmpdir(), `bench-${port}.log`), { force: true });
    },
  };
}
