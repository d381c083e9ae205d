/** The whole service over HTTP, in both modes, with its dependencies behind proxies where a test takes them away. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findAccount } from '../../src/accounts/store.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { importCompanies } from '../../src/directory/import.ts';
import { createElasticsearch } from '../../src/elasticsearch/client.ts';
import { createLogTo } from '../../src/observability/log.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { startService } from '../../src/service/serve.ts';
import { type CallAnswer, type CallOptions, call } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { NO_PROGRESS } from '../support/progress.ts';
import { type Provider, startProvider } from '../support/provider.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import {
  type CallerOptions,
  createCaller,
  createTestEnvironment,
  type LogLine,
  type ServiceProcess,
  spawnService,
} from '../support/service.ts';

export type Mode = 'postgres' | 'full';
/** Search in Postgres and buckets in the process; Elasticsearch and Redis. */
export const MODES: readonly Mode[] = ['postgres', 'full'];
type Dependency = 'postgres' | 'elasticsearch' | 'redis';

const VARIABLES: Record<Dependency, string> = {
  postgres: 'DATABASE_URL',
  elasticsearch: 'ELASTICSEARCH_URL',
  redis: 'REDIS_URL',
};

export interface Instance {
  /** {base_url} */
  url: string;
  baseUrl: string;
  config: Config;
  logLines: LogLine[];
  stop(): Promise<void>;
}

export type Caller = { accountId: string; keyId: string; key: string };

export interface Api extends Instance {
  mode: Mode;
  /** A pool of the test's own, past every proxy. */
  sql: Sql;
  /** What an instance or a command of this service needs. */
  env: Record<string, string>;
  provider: Provider;
  /** Of the dependencies that were asked for. */
  proxies: Record<Dependency, TcpProxy>;
  /** One more instance of the service, in this process. */
  startInstance(env?: Record<string, string>): Promise<Instance>;
  /** One more instance, as a process of its own. */
  spawnInstance(env?: Record<string, string>): Promise<ServiceProcess>;
  caller(options?: CallerOptions): Promise<Caller>;
  importDirectory(csv: string): Promise<void>;
  /** Runs a command of the command line on this service's stores. */
  command(...words: string[]): ReturnType<typeof runCommand>;
  /** What the ledger says of an account: credits used in the period, and purchased ones left. */
  ledger(account: Pick<Caller, 'accountId'>): Promise<{ used: number; credits: number }>;
}

export interface ApiOptions {
  mode?: Mode;
  /** Dependencies that go through a proxy, to take them away. */
  proxied?: Dependency[];
  env?: Record<string, string>;
  /** CSV of the directory. */
  directory?: string;
}

/** Starts the service on stores of its own, with one provider that stands for every source; no registry by default. */
export async function startApi(options: ApiOptions = {}): Promise<Api> {
  const { mode = 'postgres', proxied = [] } = options;
  const environment = await createTestEnvironment({ mode });
  const { sql } = environment.database;
  const provider = await startProvider();
  const direct = { ...environment.env };
  const env: Record<string, string> = {
    ...environment.env,
    NIF_PT_URL: `${provider.url}/`,
    VIES_URL: `${provider.url}/vies/rest-api`,
    EINFORMA_URL: `${provider.url}/api/v1`,
    ...options.env,
  };
  const proxies: Partial<Record<Dependency, TcpProxy>> = {};
  for (const dependency of proxied) {
    const proxy = await startProxy(direct[VARIABLES[dependency]]!);
    proxies[dependency] = proxy;
    env[VARIABLES[dependency]] = proxy.url(direct[VARIABLES[dependency]]!).replace(/\/$/, '');
  }
  const instances: Instance[] = [];
  const processes: ServiceProcess[] = [];
  const startInstance = async (further: Record<string, string> = {}) => {
    const instance = await startInProcess({ ...env, ...further });
    instances.push(instance);
    return instance;
  };

  if (options.directory !== undefined) await importDirectory(sql, direct, options.directory);
  const first = await startInstance();
  return {
    ...first,
    mode,
    sql,
    env,
    provider,
    proxies: proxies as Record<Dependency, TcpProxy>,
    startInstance,
    async spawnInstance(further = {}) {
      const instance = await spawnService({ ...env, ...further });
      processes.push(instance);
      return instance;
    },
    caller: (given) => createCaller(sql, given),
    importDirectory: (csv) => importDirectory(sql, direct, csv),
    command: (...words) => runCommand(direct, ...words),
    async ledger({ accountId }) {
      const { used, credits } = (await findAccount(sql, accountId))!;
      return { used, credits };
    },
    async stop() {
      for (const proxy of Object.values(proxies)) proxy.up();
      await Promise.all(processes.map((instance) => instance.kill('SIGKILL')));
      for (const instance of instances) await instance.stop();
      await provider.close();
      for (const proxy of Object.values(proxies)) await proxy.close();
      await environment.remove();
      for (const { logLines } of [...instances, ...processes]) checkLog(logLines);
    },
  };
}

async function startInProcess(env: Record<string, string>): Promise<Instance> {
  const config = readConfig(env);
  const logLines: LogLine[] = [];
  const log = createLogTo({ write: (line) => void logLines.push(JSON.parse(line)) });
  const service = await startService(config, { log });
  const baseUrl = `http://127.0.0.1:${service.port}`;
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  return { url: `${baseUrl}/api/v1`, baseUrl, config, logLines, stop };
}

async function importDirectory(sql: Sql, env: Record<string, string>, csv: string): Promise<void> {
  const config = readConfig(env);
  const elasticsearch = createElasticsearch(config);
  const folder = await mkdtemp(join(tmpdir(), 'api-test-'));
  try {
    const path = join(folder, 'companies.csv');
    await Bun.write(path, csv);
    const tools = { config, sql, elasticsearch, signal: new AbortController().signal, actor: 'test' };
    const how = { replace: true, force: true };
    await importCompanies(tools, { path }, how, NO_PROGRESS);
  } finally {
    await elasticsearch?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The log lines from that place on, without the request for the OpenAPI document: the first answer of a service is checked against
 * it (`call`), whichever test asks first.
 */
export function linesSince({ logLines }: Pick<Instance, 'logLines'>, from: number): LogLine[] {
  return logLines.slice(from).filter(({ route }) => route !== '/openapi/json');
}

/** Everything that consumers have sent in the tests of this process and no log may repeat. */
const confidential = new Set<string>();

/** `call`, with everything that no log may repeat remembered: the key, the query, the NIF. */
export async function ask(
  { url }: Pick<Instance, 'url'>,
  path: string,
  options: CallOptions = {},
): Promise<CallAnswer> {
  if (options.key) confidential.add(options.key);
  const { pathname, searchParams } = new URL(url + path);
  for (const text of [...searchParams.values(), pathname.split('/companies/')[1] ?? '']) {
    if (text.trim().length >= 5) confidential.add(text.trim());
  }
  return call(url, path, options);
}

/** Further text that no log may hold: names that a provider gave, secrets of the configuration. */
export function keepSecret(...texts: string[]): void {
  for (const text of texts) confidential.add(text);
}

/** Every line is an object with a time and a message, and none holds a key, a NIF, a query or a name. */
export function checkLog(lines: LogLine[]): void {
  for (const line of lines) {
    const text = JSON.stringify(line);
    if (typeof line.msg !== 'string' || Number.isNaN(Date.parse(String(line.time)))) {
      throw new Error(`a line of the log is not complete: ${text}`);
    }
    const { account: _, key_id: _id, ...rest } = line;
    const found = [...confidential, ...(JSON.stringify(rest).match(/svc_\w{10,}|\b\d{9}\b/g) ?? [])].find(
      (secret) => JSON.stringify(rest).includes(JSON.stringify(secret).slice(1, -1)),
    );
    if (found !== undefined) throw new Error(`the log holds ${JSON.stringify(found)}: ${text}`);
  }
}

/** Sends bytes as they stand and reads until the server closes; ask for `Connection: close`. */
export function sendRaw({ baseUrl }: Pick<Instance, 'baseUrl'>, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => void chunks.push(chunk as Buffer));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
  });
}

/** Sets the age of a stored record. */
export async function setAge(sql: Sql, nif: string, ageS: number): Promise<void> {
  await sql`UPDATE companies SET fetched_at = now() - ${ageS}::float8 * interval '1 second' WHERE nif = ${nif}`;
}

export const DAY_S = 86_400;
