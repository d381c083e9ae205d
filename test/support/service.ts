import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createAccount } from '../../src/metering/accounts/account-store.ts';
import { changeLimits } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import type { Plan } from '../../src/metering/accounts/plan.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { readConfig } from '../../src/platform/config/config.ts';
import { createLogTo } from '../../src/platform/observability/log.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { urlOf } from '../servers/shared.ts';
import { forgetDocument } from './client.ts';
import { bareEnvironment, MAIN, ROOT } from './command.ts';
import { createTestDatabase } from './database.ts';
import type { Mode } from './modes.ts';
import { createTestIndexAlias } from './search-index.ts';
import { startService } from './whole.ts';

type Environment = Record<string, string>;
export type LogLine = Record<string, unknown> & { msg: string };

export type ServiceOptions = {
  /** `full` needs {@link file://./modes.ts}. */
  mode?: Mode;
  /** Further variables, over those of the mode: `{ REDIS_URL: proxy.url(…) }`. */
  env?: Environment;
};

export type Instance = Awaited<ReturnType<typeof startInProcess>>;
export type TestService = Awaited<ReturnType<typeof startTestService>>;

/**
 * The environment of a service in a mode: its own database, and for `full` its own index alias. Without outside
 * sources: no REGISTRY and a nif.pt that refuses connections, unless `env` says otherwise.
 */
export async function createTestEnvironment(options: ServiceOptions = {}) {
  const { mode = 'postgres', env = {} } = options;
  const database = await createTestDatabase('service');
  const index = createTestIndexAlias();
  const full = () => ({
    ELASTICSEARCH_URL: urlOf('elasticsearch'),
    ELASTICSEARCH_PREFIX: index.alias,
    REDIS_URL: urlOf('redis'),
  });
  return {
    database,
    env: {
      PORT: '0',
      DATABASE_URL: database.url,
      NIF_PT_URL: 'http://127.0.0.1:9/',
      REGISTRY: 'none',
      ...(mode === 'full' ? full() : {}),
      ...env,
    } as Environment,
    async remove() {
      if (mode === 'full') await index.cleanup();
      await database.drop();
    },
  };
}

/** Starts the real service in this process, on a free port and its own database. */
export async function startTestService(options: ServiceOptions = {}) {
  const { env, database, remove } = await createTestEnvironment(options);
  const instance = await startInProcess(env, remove).catch(async (error) => {
    await remove();
    throw error;
  });
  return {
    ...instance,
    /** A pool of the test's own on the service's database. */
    sql: database.sql,
    databaseUrl: database.url,
  };
}

/** Starts the service of an environment in this process. `await using` stops it, too. @param atEnd happens when it has stopped */
export async function startInProcess(env: Environment, atEnd: () => Promise<void> = async () => {}) {
  const logLines: LogLine[] = [];
  const log = createLogTo({ write: (line) => void logLines.push(JSON.parse(line)) });
  const config = readConfig(env);
  const service = await startService(config, { log });
  const baseUrl = `http://127.0.0.1:${service.port}`;
  forgetDocument(baseUrl);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= service.stop().then(atEnd);
    return stopped;
  };
  return {
    /** {base_url}: ends with /api/v1. */
    url: `${baseUrl}/api/v1`,
    /** The service's address, for what is not in the API. */
    baseUrl,
    config,
    /** The lines that the service has logged so far. */
    logLines,
    /** Can be called twice. */
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

export type ServiceProcess = Awaited<ReturnType<typeof spawnService>>;

/**
 * Starts `bun src/main.ts serve` as a separate process and waits until it listens. Its environment is `env`, `PORT=0`
 * and what a process needs to run at all.
 * @throws Error with its stderr when it ends before that
 */
export async function spawnService(env: Environment) {
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    cwd: ROOT,
    env: { ...bareEnvironment(), PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Not `exit`, which may come before the last lines.
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const logLines: LogLine[] = [];
  const address = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as LogLine;
      logLines.push(line);
      if (line.msg !== 'listening') return;
      // With a PUBLIC_URL the line says that one: the test has chosen the port then.
      resolve(env.PUBLIC_URL === undefined ? (line.address as string) : `http://127.0.0.1:${env.PORT}`);
    });
    exited.then((code) => reject(new Error(`serve ended with ${code} before it listened\n${stderr}`)));
  });
  forgetDocument(address);
  /** Sends a signal and waits until it is gone, and its last line is read. */
  const kill = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> => {
    child.kill(signal);
    return exited;
  };
  return {
    url: `${address}/api/v1`,
    baseUrl: address,
    pid: child.pid!,
    logLines,
    /** Resolves with the exit code, or the signal that ended it, once it is gone. */
    exited,
    kill,
    [Symbol.asyncDispose]: async () => void (await kill()),
  };
}

export type CallerOptions = {
  plan?: Plan;
  periodStart?: Date;
  until?: Date;
  /** Requests per minute of the account's own; absent: the plan's. */
  limits?: { requestsPerMinute: number };
  /** Purchased credits. */
  credits?: number;
  /** Included credits of the account's own; absent: the plan's. */
  included?: number;
};

/** More of everything than a test spends. */
export const PLENTY = { limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 };

/** An account with a key, made as the command line makes them. */
export async function createCaller(
  sql: Sql,
  options: CallerOptions = {},
): Promise<{ accountId: string; keyId: string; key: string }> {
  const { plan = 'free', periodStart, until, limits, credits, included } = options;
  const { id: accountId } = await createAccount(sql, { name: 'Test', plan, periodStart, until }, 'test');
  if (limits !== undefined || included !== undefined) {
    await changeLimits(sql, accountId, { ...limits, includedCredits: included }, 'test');
  }
  if (credits !== undefined) await grantCredits(sql, accountId, { credits }, 'test');
  const { id: keyId, secret: key } = await createKey(sql, accountId, '', 'test');
  return { accountId, keyId, key };
}

/** The secret of a new test key of the account. */
export async function createTestKey(sql: Sql, accountId: string): Promise<string> {
  const secret = generateSecret(undefined, true);
  await createKey(sql, accountId, '', 'test', null, secret);
  return secret;
}
