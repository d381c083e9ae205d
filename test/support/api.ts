/** The whole service over HTTP, in both modes, with its dependencies behind proxies where a test takes them away. */
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireAccount } from '../../src/metering/accounts/account-store.ts';
import { checkLog } from './ask.ts';
import { runHere } from './command.ts';
import type { Mode } from './modes.ts';
import { startProvider } from './provider.ts';
import { startProxy, type TcpProxy } from './proxy.ts';
import {
  type CallerOptions,
  createCaller,
  createTestEnvironment,
  type Instance,
  PLENTY,
  type ServiceProcess,
  spawnService,
  startInProcess,
} from './service.ts';

type Dependency = 'postgres' | 'elasticsearch' | 'redis';

const VARIABLES: Record<Dependency, string> = {
  postgres: 'DATABASE_URL',
  elasticsearch: 'ELASTICSEARCH_URL',
  redis: 'REDIS_URL',
};

export { type Instance, PLENTY };

export type Caller = { accountId: string; keyId: string; key: string };

export type Api = Awaited<ReturnType<typeof startApi>>;

export interface ApiOptions {
  mode?: Mode;
  /** Dependencies that go through a proxy, to take them away. */
  proxied?: Dependency[];
  env?: Record<string, string>;
  /** CSV of the directory. */
  directory?: string;
}

/** Starts the service on its own stores, with one provider that stands for every source; no registry by default. */
export async function startApi(options: ApiOptions = {}) {
  const { mode = 'postgres', proxied = [] } = options;
  const environment = await createTestEnvironment({ mode });
  const { database } = environment;
  const { sql } = database;
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
  /** One more instance of the service, in this process. */
  const startInstance = async (further: Record<string, string> = {}) => {
    const instance = await startInProcess({ ...env, ...further });
    instances.push(instance);
    return instance;
  };

  if (options.directory !== undefined) await importDirectory(direct, options.directory);
  const first = await startInstance();
  return {
    ...first,
    /** Past every proxy. */
    database,
    /** A pool of the test's own, past every proxy. */
    sql,
    /** The environment of an instance or a command of this service. */
    env,
    provider,
    /** Of the dependencies that were asked for. */
    proxies: proxies as Record<Dependency, TcpProxy>,
    startInstance,
    /** One more instance, as a separate process. */
    async spawnInstance(further: Record<string, string> = {}): Promise<ServiceProcess> {
      const instance = await spawnService({ ...env, ...further });
      processes.push(instance);
      return instance;
    },
    caller: (given?: CallerOptions): Promise<Caller> => createCaller(sql, given),
    importDirectory: (csv: string) => importDirectory(direct, csv),
    /** Runs a command of the command line on this service's stores. */
    command: (...words: string[]) => runHere(direct, ...words),
    /** The ledger of an account: credits used in the period, and purchased ones left. */
    async ledger({ accountId }: Pick<Caller, 'accountId'>): Promise<{ used: number; credits: number }> {
      const { used, credits } = await requireAccount(sql, accountId);
      return { used, credits };
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };

  async function stop(): Promise<void> {
    for (const proxy of Object.values(proxies)) proxy.up();
    await Promise.all(processes.map((instance) => instance.kill('SIGKILL')));
    for (const instance of instances) await instance.stop();
    await provider.close();
    for (const proxy of Object.values(proxies)) await proxy.close();
    await environment.remove();
    for (const { logLines } of [...instances, ...processes]) checkLog(logLines);
  }
}

async function importDirectory(env: Record<string, string>, csv: string): Promise<void> {
  const path = join(tmpdir(), `directory-${crypto.randomUUID()}.csv`);
  await Bun.write(path, csv);
  const importing = runHere(env, 'companies', 'import', path, '--replace', '--force');
  const { code, stderr } = await importing.finally(() => rm(path));
  if (code !== 0) throw new Error(stderr);
}
